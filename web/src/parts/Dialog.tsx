// Something that must be answered first: a dialog of the browser, which keeps the focus inside, gives it back, and closes on Escape.

import type { ComponentChildren } from "preact";
import { useId, useLayoutEffect, useRef } from "preact/hooks";

import { strings } from "../strings";
import { Form, useDraft } from "./form";

interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}

export function Dialog({ title, onClose, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  // with the drawing, not after it: a key pressed at once is meant for the dialog, and what is behind a modal one takes no focus
  useLayoutEffect(() => {
    const shown = dialog.current;
    shown?.showModal();
    // the browser gives the focus back when a dialog is closed, not when it is taken away
    return () => shown?.close();
  }, []);
  const cancel = (event: Event) => {
    event.preventDefault();
    onClose();
  };
  // a browser may close it without asking; when it was taken away, that is known
  const closed = () => { if (dialog.current) onClose(); };
  return (
    <dialog ref={dialog} aria-labelledby={id} onCancel={cancel} onClose={closed}>
      <h2 id={id}>{title}</h2>
      {children}
    </dialog>
  );
}

interface ConfirmProps {
  readonly title: string;
  readonly text: string;
  readonly action: string;
  readonly work: () => Promise<void>;
  readonly onClose: () => void;
}

/** Asks before something is done; what is refused is said in the dialog. */
export function Confirm({ title, text, action, work, onClose }: ConfirmProps) {
  const draft = useDraft(() => ({}));
  const done = async () => {
    await work();
    onClose();
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <Form draft={draft} label={title} action={action} work={done} onCancel={onClose}><p>{text}</p></Form>
    </Dialog>
  );
}

/** A dialog that only tells. */
export function Told({ title, onClose, children }: DialogProps) {
  return (
    <Dialog title={title} onClose={onClose}>
      {children}
      <div class="form-actions"><button type="button" class="primary" onClick={onClose}>{strings.manage.form.close}</button></div>
    </Dialog>
  );
}
