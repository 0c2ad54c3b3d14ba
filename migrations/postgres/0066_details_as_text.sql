-- What a kind of record tells beside the columns is written with every record and read whole: as text, which the database does not
-- take apart. As `jsonb` it cost four times as much to insert, and a third more room.
alter table records alter column detail type text;
