/** Sums of the ledger against those of the chains and of the venues' books, wallet by wallet. */
import { formatUnits, parseUnits } from "viem";
import type { DepositRow, InternalRow, TransferRow, WithdrawalRow } from "../../../../engine/transfers/transfer-row.js";
import { WORLD, WORLD_CHAIN_IDS } from "../../../sim/chain/world-plan.js";
import { inVenueUnits } from "../money-books.js";
import { chainKey, E12_DECIMALS, type Evidence, lower } from "./money-evidence.js";
import type { Find, Judged } from "./money-findings.js";
import { isAllThatIsKnown, type Paying } from "./money-payings.js";
import type { MoneyWallet } from "./money-world.js";

const sum = (values: readonly bigint[]): bigint => values.reduce((total, one) => total + one, 0n);

const depositsOf = (rows: readonly TransferRow[], walletId: string): DepositRow[] =>
  rows.flatMap((row) =>
    row.kind === "deposit" && row.walletId === walletId && row.state === "confirmed" ? [row] : [],
  );

const withdrawalsOf = (rows: readonly TransferRow[], walletId: string): WithdrawalRow[] =>
  rows.flatMap((row) =>
    row.kind === "withdrawal" && row.walletId === walletId && (row.state === "confirmed" || isAllThatIsKnown(row))
      ? [row]
      : [],
  );

/** Of each token on each chain: what left the wallet, and what reached it. */
export function judgeTokens(judged: Judged, wallet: MoneyWallet, payings: readonly Paying[], find: Find): void {
  const { evidence, rows } = judged;
  const { address, walletId } = wallet;
  const deposits = depositsOf(rows, walletId);
  const withdrawals = withdrawalsOf(rows, walletId);
  for (const chainId of WORLD_CHAIN_IDS)
    for (const { symbol, address: token } of Object.values(WORLD[chainId].tokens)) {
      const name = `${symbol} of ${address} on ${chainId}`;
      const isOf = (row: DepositRow | WithdrawalRow) => row.chainId === chainId && row.token.symbol === symbol;
      const moves = evidence.events.filter(
        (event) => event.chainId === chainId && event.contract === lower(token) && event.name === "Transfer",
      );
      const outE = sum(
        moves.filter(({ args }) => lower(args["from"]) === address).map(({ args }) => args["value"] as bigint),
      );
      const inE = sum(
        moves.filter(({ args }) => lower(args["to"]) === address).map(({ args }) => args["value"] as bigint),
      );
      const key = chainKey(chainId, address);
      const delta =
        (evidence.after.chains.get(key)?.tokens[symbol] ?? 0n) -
        (evidence.before.chains.get(key)?.tokens[symbol] ?? 0n);
      if (delta !== inE - outE) find("tokens", `${name} changed by ${delta}, and its events say ${inE - outE}`);
      const left = sum(deposits.filter(isOf).map(({ amount }) => BigInt(amount)));
      if (left !== outE) find("tokens", `${name}: ${outE} left, and the ledger says ${left}`);
      const own = withdrawals.filter((row) => isOf(row) && row.receiver === address && !isGivenBack(row, payings));
      const said = sum(own.map(({ paid }) => BigInt(paid ?? 0)));
      const arrived = sum(arrivalsOf(evidence, chainId, symbol, address));
      if (said !== arrived) find("paid", `${name}: ${arrived} was paid, and the ledger says ${said}`);
    }
}

/** By venueone without a word: its row stays as it was. */
function isGivenBack({ venue, venueId, account }: WithdrawalRow, payings: readonly Paying[]): boolean {
  return payings.some(
    (one) =>
      one.venue === venue && venue === "venueone" && one.venueId === venueId && one.address === account && one.isBack,
  );
}

/** Amounts that vault or bridge paid to the address, before what the token itself keeps. */
function arrivalsOf({ events }: Evidence, chainId: number, symbol: string, address: string): bigint[] {
  return events.flatMap(({ chainId: on, name, args }) => {
    if (on !== chainId) return [];
    if (name === "Withdraw" && symbol === "USDT" && lower(args["to"]) === address) return [args["amount"] as bigint];
    const isBridge = name === "FinalizedWithdrawal" && symbol === "USDC" && lower(args["destination"]) === address;
    return isBridge ? [args["usd"] as bigint] : [];
  });
}

/** Each account of each venue: what the ledger says that came and went, and what its books changed by. */
export function judgeVenues(
  { evidence, rows }: Judged,
  wallet: MoneyWallet,
  payings: readonly Paying[],
  find: Find,
): void {
  const { address, walletId } = wallet;
  const before = evidence.before.venues.get(address);
  const after = evidence.after.venues.get(address);
  if (before === undefined || after === undefined) return;
  const e12 = (row: DepositRow | WithdrawalRow, units: string | null) =>
    inVenueUnits(BigInt(units ?? 0), row.token.decimals);
  const came = (venue: string) =>
    sum(
      depositsOf(rows, walletId).map((row) =>
        row.venue === venue ? e12(row, row.steps.at(-1)?.mined?.taken ?? null) : 0n,
      ),
    );
  const went = (venue: string, accountType: string | null) =>
    sum(
      withdrawalsOf(rows, walletId).map((row) =>
        row.venue === venue && row.accountType === accountType
          ? e12(row, row.amount) + (row.feeIsInside ? 0n : e12(row, row.fee))
          : 0n,
      ),
    );
  const across = sum(
    rows.flatMap((row) => (row.kind === "internal" && row.walletId === walletId ? [acrossOf(row)] : [])),
  );
  const back = sum(
    payings
      .filter((one) => one.venue === "venueone" && one.isBack && one.address === address)
      .map(({ units }) => inVenueUnits(units, 6)),
  );
  const expected = {
    spotE12: came("venuetwo") - went("venuetwo", "spot") - across,
    perpE12: across - went("venuetwo", "perp"),
    oneE12: came("venueone") - went("venueone", null) + back,
  };
  for (const name of ["spotE12", "perpE12", "oneE12"] as const) {
    const changed = after[name] - before[name];
    if (changed !== expected[name])
      find(
        "venue",
        `${name} of ${address} changed by ${formatUnits(changed, 12)}, and the ledger says ${formatUnits(expected[name], 12)}`,
      );
  }
}

function acrossOf({ state, amount, kindType }: InternalRow): bigint {
  if (state !== "confirmed") return 0n;
  return (kindType === "SPOT_FUTURE" ? 1n : -1n) * parseUnits(amount, E12_DECIMALS);
}

/** Nonces and gas of the wallet on each chain. */
export function judgeChainUse({ evidence, rows, world }: Judged, { address, walletId }: MoneyWallet, find: Find): void {
  const outside = new Set<string>(world.outside.map(({ hash }) => hash));
  const said = new Map<string, string>();
  for (const row of rows)
    if (row.kind === "deposit" && row.walletId === walletId)
      for (const { mined } of row.steps) if (mined !== null) said.set(mined.hash, mined.gasCost);
  for (const chainId of WORLD_CHAIN_IDS) {
    const calls = evidence.calls.filter((call) => call.chainId === chainId && call.from === address);
    const key = chainKey(chainId, address);
    const nonces = new Set(calls.map(({ nonce }) => nonce));
    if (nonces.size !== calls.length || calls.length !== evidence.after.chains.get(key)?.nonce)
      find("nonce", `${address} used ${calls.length} nonces on ${chainId}, and the chain says another`);
    const spent = (evidence.before.chains.get(key)?.native ?? 0n) - (evidence.after.chains.get(key)?.native ?? 0n);
    if (spent !== sum(calls.map(({ gasCost }) => gasCost))) find("gas", `${address} spent ${spent} on ${chainId}`);
    for (const { hash, gasCost, name } of calls) {
      if (outside.has(hash)) continue;
      const recorded = said.get(hash) ?? "nothing";
      said.delete(hash);
      if (recorded !== gasCost.toString())
        find("gas", `${name} of ${address} on ${chainId} cost ${gasCost}, and the ledger says ${recorded}`);
    }
  }
  for (const hash of said.keys()) find("gas", `the ledger has ${hash} in a block, and the chain has it not`);
}
