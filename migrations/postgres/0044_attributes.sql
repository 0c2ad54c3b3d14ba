-- What the reports of a fix said beside where the vehicle is: a JSON object as compact text, or null. Written with the fix
-- (src/store/position_row.rs); those of fixes that came in order are in fix_log and position_chunk.
alter table position add column attributes text;
