# What several commands need to know about dates.

# year YYYY-MM-DD, month and day print one part of a date, without zeros in front.
year() { expr "${1%%-*}" + 0; }
month() { m=${1#*-}; expr "${m%-*}" + 0; }
day() { expr "${1##*-}" + 0; }
