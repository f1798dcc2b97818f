/**
 * Compares the ledger with what the chain and the venues did, to the unit. Sums come from their logs and from the signer's;
 * each intent has an amount that no other has but those that are alike on purpose, so that what it did is found without the
 * ledger.
 */
import type { TransferRow } from "../transfer-row.js";
import { OLD_TOKEN, TOKEN } from "./fake-contracts.js";
import { ACCOUNT } from "./fake-signer.js";
import { START, type TransferWorld } from "./transfer-world.js";

export interface Intent {
  readonly kind: TransferRow["kind"];
  readonly amount: bigint;
  /** What the caller heard: `done`, a code, `dead`, `hangs`. */
  readonly outcome: string;
}

/** After these the transfer may still go on, or nobody said anything. */
const OPEN_ENDS = new Set(["done", "dead", "hangs", "APPROVAL_PENDING", "STORE_UNAVAILABLE"]);
const BALANCE = 10n ** 12n;

/** Returns what is wrong. `deaths`: signatures may have been lost with a life, each once. */
export function judged(
  world: TransferWorld,
  rows: readonly TransferRow[],
  intents: readonly Intent[],
  { deaths, fails }: { readonly deaths: number; readonly fails: boolean },
): string[] {
  const wrongs = [...world.wrongs];
  const wrong = (text: string) => void wrongs.push(text);
  for (const row of rows)
    if (row.state !== "confirmed" && row.state !== "failed" && !mayStayUnknown(row, rows))
      wrong(`${row.kind} of ${row.amount} is ${row.state}`);
  for (const alike of alikeOf(intents)) judgeIntents(world, rows, alike, wrong);
  const deposits = world.chain.deposits();
  for (const token of [TOKEN, OLD_TOKEN]) {
    const taken = sum(deposits.filter((one) => one.token === token).map(({ amount }) => amount));
    if (world.chain.tokenOf(token, ACCOUNT) !== START.token - taken) wrong("the wallet paid something else");
  }
  const counted = rows.flatMap((row) =>
    row.kind === "deposit" && row.state === "confirmed" ? BigInt(row.steps.at(-1)?.mined?.taken ?? 0) : [],
  );
  if (sum(counted) !== sum(deposits.map(({ amount }) => amount))) wrong("the sum of deposits is another");
  const gas = rows.flatMap((row) =>
    row.kind === "deposit" ? row.steps.map(({ mined }) => BigInt(mined?.gasCost ?? 0)) : [],
  );
  if (START.native - world.chain.nativeOf(ACCOUNT) !== sum(gas)) wrong("the sum of gas is another");
  for (const money of [world.named, world.listed]) {
    const paid = money.payouts.filter((one) => !one.fails);
    if (money.balance !== BALANCE - sum(paid.map(({ debit }) => debit))) wrong("the venue's books are wrong");
    const ofVenue = rows.flatMap((row) =>
      row.kind === "withdrawal" && row.venue === money.venue && row.state === "confirmed" ? [row] : [],
    );
    const debits = ofVenue.map((row) => BigInt(row.amount) + (row.feeIsInside ? 0n : BigInt(row.fee)));
    if (sum(debits) !== sum(paid.map(({ debit }) => debit))) wrong("the sum of withdrawals is another");
    if (sum(ofVenue.map((row) => BigInt(row.paid ?? 0))) !== sum(paid.map((one) => one.paid)))
      wrong("the sum of payments is another");
    for (const { receiver } of paid) if (receiver !== ACCOUNT) wrong("a withdrawal went to another receiver");
    for (const payout of money.payouts) if (payout.fails && !fails) wrong("a payment failed");
  }
  judgeSignatures(world, deaths, wrong);
  return [...new Set(wrongs)];
}

/** The venue's list does not tell it from another one, and its name says that it was used: by this one, or not. */
function mayStayUnknown(row: TransferRow, rows: readonly TransferRow[]): boolean {
  const isLike = (one: TransferRow) => one !== row && one.kind === "internal" && one.amount === row.amount;
  return row.kind === "internal" && row.state === "unknown" && rows.some(isLike);
}

function alikeOf(intents: readonly Intent[]): Iterable<readonly Intent[]> {
  const groups = new Map<string, Intent[]>();
  for (const intent of intents) {
    const key = `${intent.kind} of ${intent.amount}`;
    groups.set(key, [...(groups.get(key) ?? []), intent]);
  }
  return groups.values();
}

/** Intents that are alike are judged together: as many of their rows took effect as effects are seen. */
function judgeIntents(
  world: TransferWorld,
  rows: readonly TransferRow[],
  alike: readonly Intent[],
  wrong: (text: string) => void,
): void {
  const [intent] = alike;
  if (intent === undefined) return;
  const { kind, amount } = intent;
  const own = rows.filter((row) => row.kind === kind && row.amount === amount.toString());
  const events = world.chain.deposits().filter((one) => one.amount === amount);
  const payouts = [...world.named.payouts, ...world.listed.payouts].filter(
    (one) => one.amount === amount && one.debit > 0n,
  );
  const moves = world.listed.moves.filter((one) => one.amount === amount.toString());
  const effects = kind === "deposit" ? events.length : kind === "withdrawal" ? payouts.length : moves.length;
  const name = `${kind} of ${amount} (${alike.map(({ outcome }) => outcome).join(", ")})`;
  if (own.length > alike.length) wrong(`${name} has ${own.length} rows`);
  if (effects > alike.length) wrong(`${name} took effect ${effects} times`);
  const lasting = kind === "withdrawal" ? payouts.filter(({ fails }) => !fails).length : effects;
  const confirmed = own.filter(({ state }) => state === "confirmed").length;
  const undecided = own.filter((row) => mayStayUnknown(row, own)).length;
  if (confirmed > lasting || confirmed + undecided < lasting)
    wrong(`${name} is ${own.map(({ state }) => state).join(" and ")} and took effect ${effects} times`);
  const refused = alike.filter(({ outcome }) => !OPEN_ENDS.has(outcome)).length;
  if (refused > 0 && effects > alike.length - refused) wrong(`${name} was refused, and took effect`);
  if (alike.some(({ outcome }) => outcome === "hangs" || outcome.startsWith("BUG"))) wrong(`${name} is a bug`);
  for (const { hash, account } of events) {
    if (account !== ACCOUNT) wrong(`${name} was for another account`);
    if (!world.named.credits.has(hash) && !world.listed.credits.has(hash))
      wrong(`${name} was not followed to its credit`);
  }
}

function judgeSignatures(world: TransferWorld, deaths: number, wrong: (text: string) => void): void {
  const byCall = new Map<string, Set<string>>();
  const times = new Map<string, number>();
  let spare = deaths;
  for (const request of world.signed) {
    if (request.kind === "transaction") {
      const { transaction } = request;
      const data = Buffer.from(transaction.data).toString("hex");
      // Setting an allowance to zero is the same call for each deposit.
      const isReset = data.startsWith("095ea7b3") && /0{64}$/.test(data);
      const key = isReset ? `reset ${transaction.nonce}` : data;
      const rest = `${transaction.nonce} ${transaction.to} ${transaction.value} ${transaction.gasLimit}`;
      byCall.set(key, (byCall.get(key) ?? new Set()).add(rest));
      const fees = transaction.type === "eip1559" ? `${transaction.maxFeePerGas}` : "";
      times.set(`${key} ${rest} ${fees}`, (times.get(`${key} ${rest} ${fees}`) ?? 0) + 1);
    } else if (request.kind === "message") {
      const text = Buffer.from(request.bytes).toString("utf8");
      const { amount } = JSON.parse(text) as { amount: string };
      byCall.set(`act ${amount}`, (byCall.get(`act ${amount}`) ?? new Set()).add(text));
      times.set(text, (times.get(text) ?? 0) + 1);
    }
  }
  for (const one of byCall.values()) if (one.size > 1) wrong("two things were signed for one intent");
  for (const count of times.values()) spare -= count - 1;
  if (spare < 0) wrong("the same was signed again without need");
}

function sum(values: readonly bigint[]): bigint {
  return values.reduce((total, one) => total + one, 0n);
}
