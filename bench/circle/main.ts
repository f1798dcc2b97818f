/**
 * `npm run circle`: money of a server wallet goes the whole way through a running demo, as a user would take it there
 * with fetch alone. Into one venue, to its perpetual account, through a trade, and out again; the same at the other. Each
 * step prints the balances, and at the end the sums. The exit code is 0 only where all of them are exact.
 */
import { NATIVE_VENUE, WALLET_VENUE } from "../../schemas/venues.js";
import { venueCircle } from "./venue-circle.js";
import { CircleError, User } from "./user.js";
import { belowLastDigit, differences, printAtto } from "./sums.js";

const HELP = `npm run circle -- [address of a running demo]     default http://127.0.0.1:8080, or PORT\n`;

const [address = `http://127.0.0.1:${process.env["PORT"] ?? "8080"}`] = process.argv.slice(2);
if (address === "--help" || address === "-h") {
  process.stdout.write(HELP);
  process.exit(0);
}
const say = (line: string) => void process.stdout.write(`${line}\n`);

async function circle(base: string): Promise<number> {
  const user = new User(base);
  let wrong = 0;
  for (const venue of [NATIVE_VENUE, WALLET_VENUE]) {
    const { asset, coin, sums } = await venueCircle(user, venue, say);
    say(`${venue}: sums`);
    const rows: [string, bigint, string][] = [
      ["went in", sums.deposited, asset],
      ["fees of withdrawals", sums.withdrawalFees, asset],
      ["fees of trades", sums.trades.fees, asset],
      ["result of trades", sums.trades.result, asset],
      ["funding", sums.funding, asset],
      ["left at the venue", sums.left, asset],
      ["too small to show", belowLastDigit(sums), asset],
      ["came back", sums.withdrawn, asset],
      ["gas", sums.gas, coin],
    ];
    for (const [name, value, unit] of rows) say(`  ${name.padEnd(20)} ${printAtto(value)} ${unit}`);
    for (const { name, missing } of differences(sums)) {
      if (missing !== 0n) wrong++;
      say(`  ${missing === 0n ? "exact" : `WRONG by ${printAtto(missing)}`}   ${name}`);
    }
    say("");
  }
  return wrong;
}

try {
  const wrong = await circle(new URL(address).origin);
  say(wrong === 0 ? "the circle is closed: every sum is exact" : `the circle is not closed: ${wrong} sums are wrong`);
  process.exitCode = wrong === 0 ? 0 : 1;
} catch (error) {
  // A refusal of the service, or nobody there.
  const problem = error instanceof CircleError || error instanceof TypeError ? error.message : String(error);
  process.stderr.write(`circle: ${problem}\n`);
  process.exitCode = 1;
}
