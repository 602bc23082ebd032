# Lists the commands.
for file in "$lib"/*.sh; do
	name=${file##*/}
	[ "$name" = date.sh ] || echo "${name%.sh}"
done
