// Whether a dashboard keeps to a JSON schema: node check.mjs schema.json dashboard.json

import { readFileSync } from "node:fs";
import Ajv from "ajv";

const [schema, dashboard] = process.argv.slice(2).map((path) => JSON.parse(readFileSync(path, "utf8")));
const keeps = new Ajv({ allErrors: true, allowUnionTypes: true }).compile(schema);
if (!keeps(dashboard)) {
  for (const { instancePath, message, params } of keeps.errors) console.error(`${instancePath}: ${message} ${JSON.stringify(params)}`);
  process.exit(1);
}
