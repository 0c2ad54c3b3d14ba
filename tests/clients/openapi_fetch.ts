// openapi-typescript's types with openapi-fetch: signs in and lists the organizations.
import createClient from "openapi-fetch";
import type { paths } from "./fetch/schema";

declare const process: { argv: string[] };

async function main(): Promise<void> {
  const [, , baseUrl = "", email = "", password = ""] = process.argv;
  const client = createClient<paths>({ baseUrl });
  const login = await client.POST("/v1/auth/login", { body: { email, password } });
  if (!login.data) throw new Error(login.error.detail ?? login.error.title);
  // The role tells the two kinds of callers apart.
  const name = login.data.role === "system" ? login.data.name : login.data.firstName;
  const listed = await client.GET("/v1/organizations", {
    params: { query: { limit: 10 } },
    headers: { Authorization: `Bearer ${login.data.accessToken}` },
  });
  if (!listed.data) throw new Error(listed.error.title);
  const names = listed.data.data.map((organization) => organization.name);
  if (!names.includes("Harbour Freight")) throw new Error(`listed: ${names}`);
  console.log(`openapi-fetch: ${name || email} signed in, listed ${names.length}`);
}

void main();
