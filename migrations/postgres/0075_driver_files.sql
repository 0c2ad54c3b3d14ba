-- Files of drivers' documents, each of an organization's own profile, which has the document itself. Written by ops/driver_files and
-- ops/drivers. A document has one file; another one takes its place under a new id.
create table driver_file (
    id uuid not null,
    organization_id uuid not null,
    driver_id uuid not null,
    document_id uuid not null,
    media_type text not null,
    bytes bigint not null,
    created_at timestamptz not null,
    constraint driver_file_pkey primary key (id),
    constraint driver_file_organization_fkey foreign key (organization_id) references organization (id),
    constraint driver_file_driver_fkey foreign key (driver_id) references driver (id)
);
create unique index driver_file_document_key on driver_file (organization_id, driver_id, document_id);

-- Their bytes, in parts. Retention deletes those whose file is gone, a few at a time: together they may be large.
create table driver_file_part (
    file_id uuid not null,
    part bigint not null,
    content bytea not null,
    constraint driver_file_part_pkey primary key (file_id, part)
);
