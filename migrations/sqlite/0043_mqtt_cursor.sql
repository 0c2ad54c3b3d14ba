-- How far the events of an organization were published to a broker of its own (setting mqttBrokers, publish). Written by
-- store/mqtt_cursor; place is the broker's address with what its topics begin with.
create table mqtt_cursor (
    organization_id blob not null,
    place text not null,
    next_sequence integer not null,
    updated_at integer not null,
    constraint mqtt_cursor_pkey primary key (organization_id, place),
    constraint mqtt_cursor_organization_fkey foreign key (organization_id) references organization (id)
) strict;
