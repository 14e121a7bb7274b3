"""Labels from a table: its rows are matched to the pictures, its columns become targets, and all of it goes along into `samples.csv`."""
