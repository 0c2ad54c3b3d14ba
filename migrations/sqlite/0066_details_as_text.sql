-- What a kind of record tells beside the columns is text here already.
select 1;
