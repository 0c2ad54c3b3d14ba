// @hey-api/openapi-ts's client: signs in and lists the organizations.
import { listOrganizations, login } from "./hey";
import { client } from "./hey/client.gen";

declare const process: { argv: string[] };

async function main(): Promise<void> {
  const [, , baseUrl = "", email = "", password = ""] = process.argv;
  client.setConfig({ baseUrl, auth: () => undefined });
  const signedIn = await login({ body: { email, password }, throwOnError: true });
  client.setConfig({ auth: () => signedIn.data.accessToken });
  const listed = await listOrganizations({ query: { limit: 10 }, throwOnError: true });
  const names = listed.data.data.map((organization) => organization.name);
  if (!names.includes("Harbour Freight")) throw new Error(`listed: ${names}`);
  console.log(`@hey-api/openapi-ts: signed in, listed ${names.length}`);
}

void main();
