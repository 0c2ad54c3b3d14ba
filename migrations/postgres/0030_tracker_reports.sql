-- When each tracker was last heard, whatever it said. Written by the server about once a minute (src/store/tracker_report.rs).
create table tracker_contact (
    tracker_id uuid not null,
    last_contact_at timestamptz not null,
    constraint tracker_contact_pkey primary key (tracker_id)
);

-- What trackers sent that was refused for good: the newest hundred of each, for whoever looks for the reason. Written by the
-- server soon after the refusal (src/store/tracker_report.rs).
create table rejected_report (
    tracker_id uuid not null,
    id uuid not null,
    received_at timestamptz not null,
    input text not null,
    code text not null,
    detail text not null,
    raw bytea not null,
    constraint rejected_report_pkey primary key (tracker_id, id)
);
