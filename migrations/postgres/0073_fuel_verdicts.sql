-- What a dispatcher found of a refuel or drain: whether it was one. Written by store/fuel_verdict; retention deletes the rows whose
-- record is gone. A row without an outcome is held by a change that is under way.
create table fuel_verdict (
    event_id uuid not null,
    organization_id uuid not null,
    outcome text,
    note text,
    decided_by uuid,
    decided_at timestamptz,
    constraint fuel_verdict_pkey primary key (event_id),
    constraint fuel_verdict_organization_fkey foreign key (organization_id) references organization (id),
    constraint fuel_verdict_outcome_check check (outcome in ('confirmed', 'rejected', 'unsure'))
);
create index fuel_verdict_organization_idx on fuel_verdict (organization_id);
