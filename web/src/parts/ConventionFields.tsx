// Fields of how dates and numbers are written for a person.

import { strings } from "../strings";
import { Row, TextField } from "./form";

export function ConventionFields() {
  const words = strings.manage.users;
  return (
    <Row>
      <TextField of="/timezone" label={strings.manage.organization.timezone} hint={words.timezoneHint} />
      <TextField of="/locale" label={strings.manage.organization.locale} hint={words.localeHint} />
    </Row>
  );
}
