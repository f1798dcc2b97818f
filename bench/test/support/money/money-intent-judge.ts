/** Each intent against what took effect of it, and everything that took effect against the intents. */
import { parseUnits } from "viem";
import type { TransferRow } from "../../../../engine/transfers/transfer-row.js";
import { WORLD } from "../../../sim/chain/world-plan.js";
import { type Intent, type WithdrawalIntent, nameOf } from "./money-intents.js";
import { E12_DECIMALS, lower, type SeenCall } from "./money-evidence.js";
import type { Find, Judged } from "./money-findings.js";
import { isAllThatIsKnown, type Paying } from "./money-payings.js";

/** After these the transfer may go on, or nobody said anything. */
const OPEN_ENDS = new Set(["done", "dead", "hangs", "APPROVAL_PENDING", "STORE_UNAVAILABLE"]);

const BROKER = 1_000n;

function rowsOf(rows: readonly TransferRow[], intent: Intent): readonly TransferRow[] {
  return rows.filter(
    (row) =>
      row.kind === intent.kind &&
      row.walletId === intent.wallet.walletId &&
      row.venue === intent.venue &&
      row.amount === (intent.kind === "internal" ? intent.amount : intent.units.toString()) &&
      (row.kind === "internal" || intent.kind === "internal" || row.chainId === intent.chainId),
  );
}

/** Intents that are alike are judged together: as many of their rows took effect as effects are seen. */
export function judgeIntents(judged: Judged, payings: readonly Paying[], find: Find): void {
  for (const alike of alikeOf(judged.intents)) {
    const [intent] = alike;
    if (intent === undefined) continue;
    const own = rowsOf(judged.rows, intent);
    const effects = effectsOf(judged, payings, intent);
    const lasting = effects.filter(({ isBack }) => !isBack).length;
    const name = alike.map(nameOf).join(" and ");
    if (own.length > alike.length) find("twice", `${name} has ${own.length} rows`);
    if (effects.length > alike.length) find("twice", `${name} took effect ${effects.length} times`);
    // What venueone gave back without a word stays as it was paid (docs/transfers.md).
    const expected = own.some(isAllThatIsKnown) ? effects.length : lasting;
    const done = own.filter((row) => row.state === "confirmed" || isAllThatIsKnown(row)).length;
    const states = own.map(({ state, reason }) => `${state} ${reason ?? ""}`.trim()).join(" and ") || "no row";
    if (done !== expected) find("effect", `${name} is ${states}, and took effect ${expected} times`);
    const refused = alike.filter(({ outcomes }) => outcomes.every((outcome) => !OPEN_ENDS.has(outcome))).length;
    if (refused > 0 && lasting > alike.length - refused) find("answer", `${name} was refused, and took effect`);
    for (const { outcomes } of alike)
      for (const outcome of outcomes) if (outcome.startsWith("BUG")) find("answer", `${name}: ${outcome}`);
  }
}

function alikeOf(intents: readonly Intent[]): Iterable<readonly Intent[]> {
  const groups = new Map<string, Intent[]>();
  for (const intent of intents) groups.set(keyOf(intent), [...(groups.get(keyOf(intent)) ?? []), intent]);
  return groups.values();
}

function keyOf(intent: Intent): string {
  const { kind, venue, wallet, amount } = intent;
  const rest = kind === "internal" ? intent.kindType : intent.chainId;
  return `${kind} ${venue} ${wallet.address} ${amount} ${rest}`;
}

function effectsOf(judged: Judged, payings: readonly Paying[], intent: Intent): readonly { isBack: boolean }[] {
  const { address } = intent.wallet;
  if (intent.kind === "deposit")
    return judged.evidence.calls
      .filter((call) => call.succeeded && call.from === address && depositUnits(call, intent.venue) === intent.units)
      .filter(({ chainId }) => chainId === intent.chainId)
      .map(() => ({ isBack: false }));
  if (intent.kind === "withdrawal") return payings.filter((paying) => isPayingOf(paying, intent));
  const sign = intent.kindType === "SPOT_FUTURE" ? 1n : -1n;
  const amountE12 = sign * parseUnits(intent.amount, E12_DECIMALS);
  return judged.world.venuetwo.exchange.accounts
    .income(address)
    .filter((income) => income.type === "TRANSFER" && income.amountE12 === amountE12)
    .map(() => ({ isBack: false }));
}

function isPayingOf(paying: Paying, intent: WithdrawalIntent): boolean {
  return (
    paying.venue === intent.venue &&
    paying.address === intent.wallet.address &&
    paying.chainId === intent.chainId &&
    paying.units === intent.units &&
    paying.accountType === intent.accountType
  );
}

/** What a call gives to the venue; null: it is no deposit there. */
function depositUnits({ chainId, to, name, args }: SeenCall, venue: Intent["venue"]): bigint | null {
  const { vault, bridge } = WORLD[chainId];
  if (venue === "venuetwo") return name === "deposit" && to === lower(vault) ? (args[1] as bigint) : null;
  return name === "transfer" && bridge !== null && lower(args[0]) === lower(bridge) ? (args[1] as bigint) : null;
}

/** Everything that the wallets did, and that was done for them, was somebody's intent. */
export function judgeStrangers({ evidence, intents, world }: Judged, payings: readonly Paying[], find: Find): void {
  const outside = new Set<string>(world.outside.map(({ hash }) => hash));
  const amounts = new Set(
    intents.flatMap((one) => (one.kind === "deposit" ? `${one.wallet.address}/${one.units}` : [])),
  );
  for (const call of evidence.calls) {
    if (outside.has(call.hash)) continue;
    const units = depositUnits(call, "venuetwo") ?? depositUnits(call, "venueone");
    const { vault } = WORLD[call.chainId];
    const isApproval = call.name === "approve" && lower(call.args[0]) === lower(vault);
    const isOfNobody = units === null ? !isApproval : !amounts.has(`${call.from}/${units}`);
    const what = `${call.name ?? "a call"}(${call.args.join(", ")}) to ${call.to}`;
    if (units === null && (call.name === "transfer" || call.name === "deposit"))
      find("receiver", `a deposit went elsewhere: ${what}`);
    else if (isOfNobody) find("stranger", `nobody asked for ${what}`);
    if (call.name === "deposit" && call.args[2] !== BROKER) find("receiver", `another broker: ${what}`);
  }
  for (const paying of payings)
    if (!intents.some((intent) => intent.kind === "withdrawal" && isPayingOf(paying, intent)))
      find("stranger", `nobody asked ${paying.venue} for ${paying.units}`);
}

export function judgePayings({ intents, rows, world }: Judged, payings: readonly Paying[], find: Find): void {
  for (const paying of payings) {
    const intent = intents.find((one) => one.kind === "withdrawal" && isPayingOf(paying, one));
    const own = intent === undefined ? [] : rowsOf(rows, intent);
    const row = own.find(({ venueId }) => venueId === paying.venueId) ?? own[0];
    if (intent?.kind !== "withdrawal" || row?.kind !== "withdrawal") continue;
    const name = nameOf(intent);
    const { onChain } = paying;
    if (onChain !== null && onChain.to !== lower(intent.receiver))
      find("receiver", `${name} was paid to ${onChain.to}`);
    if (row.receiver !== lower(intent.receiver)) find("receiver", `${name} is recorded for ${row.receiver}`);
    if (paying.venue === "venuetwo" && onChain !== null && onChain.fee?.toString() !== row.fee)
      find("fee", `${name} cost ${onChain.fee}, and the ledger says ${row.fee}`);
    // Of a price that was raised meanwhile only what was paid can be known.
    const isUsual = paying.fee === world.venueone.room.venue.withdrawFeeE12 / 1_000_000n;
    if (paying.venue === "venueone" && isUsual && row.fee !== paying.fee?.toString())
      find("fee", `${name} cost ${paying.fee}, and the ledger says ${row.fee}`);
    if (row.state === "failed") continue;
    if (onChain !== null && row.state !== "confirmed") find("paid", `${name} was paid on chain, and is ${row.state}`);
    const paid = onChain?.amount ?? paying.paid;
    if (row.paid !== paid.toString()) find("paid", `${name} was paid ${paid}, and the ledger says ${row.paid}`);
  }
}

/** A deposit that is confirmed is the venue's, under the id that the row has. */
export function judgeCredits({ rows, world, intents }: Judged, find: Find): void {
  for (const row of rows) {
    if (row.kind !== "deposit" || row.state !== "confirmed") continue;
    const hash = row.steps.at(-1)?.mined?.hash ?? "";
    const decimals = row.token.decimals;
    const taken = BigInt(row.steps.at(-1)?.mined?.taken ?? 0);
    const isListed =
      row.venue === "venuetwo"
        ? world.venuetwo.room.money
            .history(row.account, row.account)
            .some(
              ({ id, txHash, amount }) =>
                id === row.venueId && txHash === hash && parseUnits(amount, decimals) === taken,
            )
        : (world.venueone.room.venue.account(row.account)?.ledger ?? []).some(
            (one) => one.hash === row.venueId && parseUnits(String(one.delta["usdc"]), decimals) === taken,
          );
    if (!isListed) find("credit", `deposit of ${row.amount} has ${row.venueId}, which the venue does not show for it`);
    if (!intents.some((intent) => rowsOf([row], intent).length === 1))
      find("stranger", `nobody asked for ${row.amount}`);
  }
}
