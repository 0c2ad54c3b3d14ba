-- How far the events of an organization were published to a broker of its own (setting mqttBrokers, publish). Written by
-- store/mqtt_cursor; place is the broker's address with what its topics begin with.
create table mqtt_cursor (
    organization_id uuid not null,
    place text not null,
    next_sequence bigint not null,
    updated_at timestamptz not null,
    constraint mqtt_cursor_pkey primary key (organization_id, place),
    constraint mqtt_cursor_organization_fkey foreign key (organization_id) references organization (id)
);
