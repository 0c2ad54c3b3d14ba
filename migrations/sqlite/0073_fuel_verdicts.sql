-- What a dispatcher found of a refuel or drain: whether it was one. Written by store/fuel_verdict; retention deletes the rows whose
-- record is gone. A row without an outcome is held by a change that is under way.
create table fuel_verdict (
    event_id blob not null,
    organization_id blob not null,
    outcome text,
    note text,
    decided_by blob,
    decided_at integer,
    constraint fuel_verdict_pkey primary key (event_id),
    constraint fuel_verdict_organization_fkey foreign key (organization_id) references organization (id),
    constraint fuel_verdict_outcome_check check (outcome in ('confirmed', 'rejected', 'unsure'))
) strict;
create index fuel_verdict_organization_idx on fuel_verdict (organization_id);
