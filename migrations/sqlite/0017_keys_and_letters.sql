-- A signing key may be wrapped (encrypted) with a key that is not in the store. Written by auth.
alter table signing_key add column wrapped integer not null default 0;

-- Failed sign-ins of an account, known or not, counted in a window: those of one client address, and under the empty
-- address all of them. What was counted before is forgotten: a window is a quarter of an hour. Written by auth.
drop table login_attempt;
create table login_attempt (
    email_key text not null,
    address text not null,
    failures integer not null,
    window_ends_at integer not null,
    constraint login_attempt_pkey primary key (email_key, address)
) strict;
create index login_attempt_window_idx on login_attempt (window_ends_at);

-- Client addresses from which an account signed in: others' failures do not keep them out. The newest of each account,
-- for some months. Written by auth.
create table sign_in_address (
    email_key text not null,
    address text not null,
    last_at integer not null,
    constraint sign_in_address_pkey primary key (email_key, address)
) strict;
create index sign_in_address_last_idx on sign_in_address (last_at);

-- Letters that were written within a day, so that nobody gets more than is borne. Written by mail.
create table letter_written (
    id blob not null,
    recipient_key text not null,
    letter text not null,
    written_at integer not null,
    constraint letter_written_pkey primary key (id)
) strict;
create index letter_written_recipient_idx on letter_written (recipient_key, written_at);
create index letter_written_at_idx on letter_written (written_at);

-- The address that a person is to have, until its link is opened. Written by ops/users.
alter table account add column pending_email text;
