# Runs one PostgreSQL cluster for as long as standard input stays open, which is as long as the
# test process lives, however it ends. $1 is the folder of the server's programs; empty is PATH. $2 is
# the address on loopback that it also listens on, with TLS, as Debian's own cluster does.
trap '' INT TERM HUP
[ -n "$1" ] && PATH="$1:$PATH"
cd /
folder=$(mktemp -d /tmp/rookery-pg-XXXXXX) || exit 1
remove() { rm -rf "$folder"; }
if ! initdb -D "$folder/data" -U rookery --auth=trust --no-locale --encoding=UTF8 \
        --no-instructions >"$folder/log" 2>&1; then
    cat "$folder/log" >&2
    remove
    exit 1
fi
if ! openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost \
        -keyout "$folder/data/server.key" -out "$folder/data/server.crt" >>"$folder/log" 2>&1; then
    cat "$folder/log" >&2
    remove
    exit 1
fi
chmod 600 "$folder/data/server.key"
postgres -D "$folder/data" -k "$folder" -c listen_addresses="$2" -c ssl=on -c max_connections=400 \
    -c shared_buffers=64MB -c unix_socket_permissions=0777 >>"$folder/log" 2>&1 </dev/null &
server=$!
until pg_isready -q -h "$folder" -U rookery -d postgres; do
    if ! kill -0 "$server" 2>/dev/null; then
        cat "$folder/log" >&2
        remove
        exit 1
    fi
    sleep 0.05
done
echo "$folder"
read -r _
kill -QUIT "$server"
wait "$server"
remove
