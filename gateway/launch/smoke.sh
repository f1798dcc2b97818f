#!/usr/bin/env bash
# A new user's first minute: start on a free port, run the printed curl, move one local venue's price and
# run the same curl again: it must pick another venue, whose own order log shows the reduce-only order. Then an open, a resting
# order and its cancel, the record, the page and the stream.
set -u -o pipefail
cd "$(dirname "$0")/../.."
folder=$(mktemp -d)
log="$folder/start.log"
passed=0
failed=0
server=""

check() { # check NAME CONDITION-STATUS
  if [ "$2" -eq 0 ]; then passed=$((passed + 1)); echo "ok   $1"; else failed=$((failed + 1)); echo "FAIL $1"; fi
}
field() { node -e 'let t="";process.stdin.on("data",d=>t+=d).on("end",()=>{let v;try{v=JSON.parse(t)}catch{v={}};for(const k of process.argv[1].split("."))v=v?.[k];process.stdout.write(String(v))})' "$1"; }
finish() {
  if [ -n "$server" ]; then
    kill -TERM "$server" 2>/dev/null
    wait "$server" 2>/dev/null
    for _ in $(seq 1 100); do kill -0 -- "-$server" 2>/dev/null || break; sleep 0.2; done
    kill -0 -- "-$server" 2>/dev/null && { echo "FAIL processes were left running"; failed=$((failed + 1)); kill -KILL -- "-$server"; }
  fi
  rm -rf "$folder"
  echo "$passed passed, $failed failed"
  [ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
  exit $?
}
trap finish EXIT

PORT=0 DATA_DIR="$folder/data" LOG_LEVEL=warn setsid npm run --silent start >"$log" 2>&1 &
server=$!
for _ in $(seq 1 600); do
  grep -q '^ready ' "$log" && break
  kill -0 "$server" 2>/dev/null || break
  sleep 0.2
done
grep -q '^ready http' "$log"
check "npm start prints its ready line" $?
curl_line=$(grep '^curl ' "$log" | head -n 1)
url_of() { sed -n "s#^ *local $1 *\\(http://[0-9.:]*\\).*#\\1#p" "$log" | head -n 1; }
# Those that take orders here; a chain alone has no books and is read by address.
venues=$(sed -n '/(a chain;/d; s#^ *local \([a-z]*\) *http://[0-9.:]*.*#\1#p' "$log")
by_address=$(sed -n '/(a chain;/s#^ *local \([a-z]*\) .*#\1#p' "$log" | head -n 1)
by_wallet=$(printf '%s\n' $venues | sed -n 1p)
streamed=$(printf '%s\n' $venues | sed -n 3p)
[ -n "$curl_line" ] && [ "$(printf '%s\n' $venues | wc -l)" -ge 4 ]
check "it prints a curl and the local venues" $?

reply=$(eval "$curl_line")
state=$(printf '%s' "$reply" | field data.execution.state)
first=$(printf '%s' "$reply" | field data.executedOn)
echo "     first close: $state on $first"
[ "$state" = COMPLETED ]
check "the printed curl closes the position" $?

base=$(sed -n 's#^ready \(http.*\)#\1#p' "$log" | head -n 1)
wallet=$(curl -s "$base/api/wallets" -H 'Content-Type: application/json' -d '{"userId":"smoke"}')
signed=$(curl -s "$base/api/wallets/smoke/sign" -H 'Content-Type: application/json' -d '{"message":"hello"}')
address=$(printf '%s' "$wallet" | field address)
[ "${#address}" -eq 42 ] && [ "$(printf '%s' "$signed" | field data.address)" = "$address" ]
check "a server wallet is made and signs" $?

# Bids 60 bps lower on the venue that won: it is now the worse exit by far more than fees differ.
curl -s -X POST "$(url_of "$first")/_sim/skew" -d '{"bps":-60}' >/dev/null
sleep 3
reply=$(eval "$curl_line")
second=$(printf '%s' "$reply" | field data.executedOn)
order=$(printf '%s' "$reply" | field data.order.orderId)
closed=$order
filled=$(printf '%s' "$reply" | field data.execution.filledSize)
echo "     second close: $(printf '%s' "$reply" | field data.execution.state) on $second, order $order, filled $filled"
[ -n "$second" ] && [ "$second" != null ] && [ "$second" != undefined ] && [ "$second" != "$first" ]
check "after the skew the same curl picks another venue" $?
curl -s "$(url_of "$second")/_sim/orders" >"$folder/orders.json"
node - "$folder/orders.json" "$order" "$filled" <<'EOF'
const [, , file, orderId, filled] = process.argv;
const { records } = JSON.parse(require("node:fs").readFileSync(file, "utf8"));
const text = records.filter((record) => JSON.stringify(record).includes(orderId));
const sent = text.find((record) => record.reduceOnly === true);
if (sent === undefined) { console.log("     no reduce-only record of that order", JSON.stringify(text).slice(0, 400)); process.exit(1); }
console.log("     venue's log:", JSON.stringify({ side: sent.side, reduceOnly: sent.reduceOnly, filled: sent.filled ?? sent.filledQty, wanted: filled }));
EOF
check "that venue's own log shows the signed reduce-only order" $?

url=$(sed -n 's/^ready //p' "$log")
open_line=$(printf '%s' "$curl_line" | sed 's#/position/close#/position/open#')
reply=$(eval "$open_line")
echo "     open: $(printf '%s' "$reply" | field data.execution.state) on $(printf '%s' "$reply" | field data.executedOn)"
[ "$(printf '%s' "$reply" | field data.execution.state)" = COMPLETED ] && [ "$(printf '%s' "$reply" | field data.order.side)" = BUY ]
check "the same body opens a position at the best entry" $?

wallet=$(sed -n 's#^ *demo wallet *\([0-9a-f-]*\).*#\1#p' "$log" | head -n 1)
reply=$(curl -s "$url/api/trading/$by_wallet/orders" -H "x-wallet-id: $wallet" -H 'Content-Type: application/json' -d "{\"userId\":\"$wallet\",\"symbol\":\"BTC\",\"side\":\"BUY\",\"type\":\"LIMIT\",\"quantity\":\"0.01\",\"price\":\"50000\"}")
resting=$(printf '%s' "$reply" | field data.orderId)
[ "$(printf '%s' "$reply" | field data.status)" = OPEN ] && [ "$(curl -s -X DELETE "$url/api/trading/$by_wallet/orders/$resting?symbol=BTC" -H "x-wallet-id: $wallet" | field success)" = true ]
check "a limit order of the demo wallet rests, and is cancelled" $?

status=$(curl -s -o "$folder/bad.json" -w '%{http_code}' "$url/api/trade/position/close" -H 'Content-Type: application/json' -d '{"symbol":"BTC"}')
[ "$status" = 400 ] && [ "$(field success <"$folder/bad.json")" = false ]
check "a wrong input gets a 400 envelope" $?

if [ -n "$by_address" ]; then
  positions_url=$(sed -n 's#^ *positions, all venues *\(http[^ ]*\).*#\1#p' "$log" | head -n 1)
  held=1
  for _ in $(seq 1 150); do
    [ "$(curl -s "$positions_url" | field "data.positions.$by_address.positions.0.symbol")" = BTC ] && { held=0; break; }
    sleep 0.2
  done
  check "the printed positions show what the demo trader holds at $by_address, by its address alone" $held
else
  echo "     no chain of the demo here: $(sed -n 's#^ *local [a-z]* *not here: ##p' "$log" | head -n 1)"
fi

recorded=1
for _ in $(seq 1 150); do
  curl -s "$url/api/history/fills?symbol=BTC" | grep -q "\"orderId\":\"$closed\"" && { recorded=0; break; }
  sleep 0.2
done
check "the record has the fill of that order" $recorded

curl -s "$url/" | grep -q '<title>'
check "the page is served" $?

# A machine that stood still has old prices for a moment, and the ticker says so instead of showing them.
covered=1
for _ in $(seq 1 150); do
  curl -s "$url/api/trading/ticker/BTC" >"$folder/ticker.json"
  found=$(grep -oE '"venue[a-z]+":\{"symbol":"BTC"' "$folder/ticker.json" | wc -l)
  [ "$found" -eq "$(printf '%s\n' $venues | wc -l)" ] && { covered=0; break; }
  sleep 0.2
done
[ $covered -eq 0 ] || printf '     ticker: %s\n' "$(cut -c 1-600 "$folder/ticker.json")"
check "the ticker covers every venue" $covered

node --input-type=module - "${url/http/ws}/ws" "$streamed" <<'EOF2'
import { WebSocket } from "ws";
const socket = new WebSocket(process.argv[2]);
const timer = setTimeout(() => process.exit(1), 20_000);
socket.on("open", () => socket.send(`{"op":"subscribe","id":"1","topic":"book","symbols":["BTC"],"exchanges":["${process.argv[3]}"],"depth":5,"intervalMs":100}`));
let last = 0;
socket.on("message", (text) => {
  const frame = JSON.parse(text);
  if (frame.type === "snapshot") last = frame.seq;
  if (frame.type !== "update" || frame.prevSeq !== last) return;
  console.log("     stream:", String(text).slice(0, 120));
  clearTimeout(timer);
  socket.close();
});
EOF2
check "the stream sends a snapshot and what changed after it" $?
