-- A file has one writer, so a row of the fix log has its number for a key. As rows of a table without row ids those of more than a
-- kilobyte had a page each beside their own.
create table new_fix_log (
    shard integer not null default 0 check (shard = 0),
    number integer not null constraint fix_log_pkey primary key,
    fixes blob not null
) strict;
insert into new_fix_log (shard, number, fixes) select shard, number, fixes from fix_log order by number;
drop table fix_log;
alter table new_fix_log rename to fix_log;
