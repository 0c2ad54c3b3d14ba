-- Alerts by the server's clock that go on: looked at after each change of master data, which says their rules in the same words.
create index records_open_clock_idx on records (cause) where kind = 'alert' and status = 'active' and ended_at is null
    and cause in ('silentWhileMoving', 'licenseExpired');

-- Where in the order of numbers an organization's records since an instant begin: none of a lower number occurred after latest_at.
-- A row for each thousand records, written by the hour (src/store/time_index.rs).
create table time_index (
    organization_id uuid not null,
    latest_at timestamptz not null,
    sequence bigint not null,
    constraint time_index_pkey primary key (organization_id, latest_at, sequence),
    constraint time_index_organization_fkey foreign key (organization_id) references organization (id)
);
