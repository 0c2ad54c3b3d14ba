-- For SQLite alone: here rows of the fix log have their shard in their key.
comment on table fix_log is 'what commits applied to vehicles whose states are not stored yet';
