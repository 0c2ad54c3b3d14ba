// Signing in by address and password. Links of invitations, resets and setup have pages of the server's own.

import { useSignal } from "@preact/signals";

import { sentence } from "../api/problem";
import { endedBecause, forgotPassword, signIn } from "../api/session";
import { href } from "../state/route";
import { strings } from "../strings";

export function SignIn() {
  const email = useSignal("");
  const password = useSignal("");
  const isBusy = useSignal(false);
  const said = useSignal("");
  const words = strings.signIn;

  async function attempt(work: () => Promise<void>, done: string) {
    isBusy.value = true;
    try {
      await work();
      said.value = done;
    } catch (problem) {
      said.value = sentence(problem);
    } finally {
      isBusy.value = false;
    }
  }

  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    void attempt(() => signIn(email.value, password.value), "");
  };
  const forgot = () => {
    if (!email.value) said.value = words.emailFirst;
    else void attempt(() => forgotPassword(email.value), words.letterSent);
  };

  return (
    <form class="sign-in" onSubmit={submit}>
      <img src="/favicon.svg" alt="" width="40" height="40" />
      <h2>{words.title}</h2>
      <p class="quiet">{words.purpose}</p>
      <label>{words.email}<input type="email" autocomplete="username" required value={email} onInput={(event) => { email.value = event.currentTarget.value; }} /></label>
      <label>{words.password}<input type="password" autocomplete="current-password" required value={password} onInput={(event) => { password.value = event.currentTarget.value; }} /></label>
      <button type="submit" class="primary" disabled={isBusy.value}>{words.action}</button>
      <button type="button" class="plain" disabled={isBusy.value} onClick={forgot}>{words.forgot}</button>
      <a href={href("sign-up")}>{strings.signUp.link}</a>
      <p role="alert">{said.value || endedBecause.value}</p>
    </form>
  );
}
