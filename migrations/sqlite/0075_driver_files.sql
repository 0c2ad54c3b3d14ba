-- Files of drivers' documents, each of an organization's own profile, which has the document itself. Written by ops/driver_files and
-- ops/drivers. A document has one file; another one takes its place under a new id.
create table driver_file (
    id blob not null,
    organization_id blob not null,
    driver_id blob not null,
    document_id blob not null,
    media_type text not null,
    bytes integer not null,
    created_at integer not null,
    constraint driver_file_pkey primary key (id),
    constraint driver_file_organization_fkey foreign key (organization_id) references organization (id),
    constraint driver_file_driver_fkey foreign key (driver_id) references driver (id)
) strict;
create unique index driver_file_document_key on driver_file (organization_id, driver_id, document_id);

-- Their bytes, in parts. Retention deletes those whose file is gone, a few at a time: together they may be large.
create table driver_file_part (
    file_id blob not null,
    part integer not null,
    content blob not null,
    constraint driver_file_part_pkey primary key (file_id, part)
) strict;
