/**
 * Compares what a run's ledger says with what the chains and the venues' books say, to the unit. Each sum is made twice, once
 * of each side, and the two meet here alone.
 */
import { formatUnits, type Hex, parseUnits } from "viem";
import type { DepositRow, InternalRow, TransferRow, WithdrawalRow } from "../../../../engine/transfers/transfer-row.js";
import { WORLD, WORLD_CHAIN_IDS, type WorldChainId, worldToken } from "../../../sim/chain/world-plan.js";
import type { Intent, WithdrawalIntent } from "./money-asks.js";
import { callOf, chainKey, type Evidence, lower, type SeenCall } from "./money-evidence.js";
import type { Signed } from "./money-life.js";
import type { MoneyWallet, MoneyWorld } from "./money-world.js";

export type MoneyCheck =
  /** A row is open that the world decides. */
  | "open"
  /** What a row says and what took effect. */
  | "effect"
  /** It took effect twice. */
  | "twice"
  | "receiver"
  | "fee"
  | "paid"
  | "gas"
  | "nonce"
  /** Two things were signed for one intent, or for one nonce. */
  | "signed"
  /** The same was signed again without need. */
  | "again"
  | "tokens"
  | "venue"
  | "credit"
  /** Nobody asked for it. */
  | "stranger"
  | "answer"
  | "final"
  | "ended"
  | "hangs";

export interface MoneyFinding {
  readonly check: MoneyCheck;
  readonly text: string;
}

export interface Judged {
  readonly world: MoneyWorld;
  readonly evidence: Evidence;
  readonly wallets: readonly MoneyWallet[];
  readonly rows: readonly TransferRow[];
  readonly intents: readonly Intent[];
  readonly signed: readonly Signed[];
  readonly heard: readonly MoneyFinding[];
  /** Signatures that may have been lost with a life or a commit. */
  readonly spareSignatures: number;
}

/** A withdrawal as a venue's books have it. `units` includes the fee where that is inside. */
interface Paying {
  readonly venue: "venueone" | "venuetwo";
  readonly venueId: string;
  readonly address: string;
  readonly chainId: WorldChainId;
  readonly units: bigint;
  /** What the venue says that it paid, its fee left out. */
  readonly paid: bigint;
  readonly fee: bigint | null;
  readonly accountType: "spot" | "perp" | null;
  /** The money is back. */
  readonly isBack: boolean;
  /** As the chain paid it; null: it did not. */
  readonly onChain: { readonly to: string; readonly amount: bigint; readonly fee: bigint | null } | null;
}

type Find = (check: MoneyCheck, text: string) => void;

/** After these the transfer may go on, or nobody said anything. */
const OPEN_ENDS = new Set(["done", "dead", "hangs", "APPROVAL_PENDING", "STORE_UNAVAILABLE"]);
const E12_DECIMALS = 12;
const BROKER = 1_000n;

export function judgeMoney(judged: Judged): readonly MoneyFinding[] {
  const findings = [...judged.heard];
  const find: Find = (check, text) => {
    if (!findings.some((one) => one.check === check && one.text === text)) findings.push({ check, text });
  };
  const payings = judged.wallets.flatMap(({ address }) => payingsOf(judged, address));
  for (const row of judged.rows) judgeState(row, find);
  judgeIntents(judged, payings, find);
  judgeStrangers(judged, payings, find);
  judgePayings(judged, payings, find);
  for (const wallet of judged.wallets) {
    judgeTokens(judged, wallet, payings, find);
    judgeVenues(judged, wallet, payings, find);
    judgeChainUse(judged, wallet, find);
  }
  judgeCredits(judged, find);
  judgeSignatures(judged, find);
  return findings;
}

function payingsOf({ world, evidence }: Judged, address: string): Paying[] {
  const two = world.venuetwo.room.money.history(address, address).flatMap((row): Paying[] => {
    if (row.type !== "WITHDRAW") return [];
    const chainId = row.chainId as WorldChainId;
    const units = parseUnits(row.amount, worldToken(chainId, row.asset).decimals);
    const pays = evidence.events.filter((event) => isVaultPayment(event, chainId, row.id));
    const [pay] = pays;
    return [
      {
        ...{
          venue: "venuetwo",
          venueId: row.id,
          address,
          chainId,
          units,
          paid: units,
          fee: null,
          accountType: row.accountType,
        },
        isBack: row.state === "FAILED",
        onChain: pay === undefined ? null : paymentOf(pay.args, "to", "amount", "fee"),
      },
    ];
  });
  const ledger = world.venueone.room.venue.account(address)?.ledger ?? [];
  const one = ledger.flatMap(({ delta }): Paying[] => {
    if (delta["type"] !== "withdraw") return [];
    const [paid, fee] = [delta["usdc"], delta["fee"]].map((text) => parseUnits(String(text), 6)) as [bigint, bigint];
    const pay = evidence.events.find(
      ({ name, args }) =>
        name === "FinalizedWithdrawal" &&
        lower(args["user"]) === address &&
        args["nonce"] === BigInt(String(delta["nonce"])),
    );
    return [
      {
        ...{
          venue: "venueone",
          venueId: String(delta["nonce"]),
          address,
          chainId: 42161,
          units: paid + fee,
          paid,
          fee,
          accountType: null,
        },
        isBack: pay === undefined,
        onChain: pay === undefined ? null : paymentOf(pay.args, "destination", "usd", null),
      },
    ];
  });
  return [...two, ...one];
}

function isVaultPayment(event: Evidence["events"][number], chainId: number, id: string): boolean {
  return event.name === "Withdraw" && event.chainId === chainId && event.args["id"] === BigInt(id);
}

function paymentOf(args: Readonly<Record<string, unknown>>, to: string, amount: string, fee: string | null) {
  return {
    ...{ to: lower(args[to]), amount: BigInt(String(args[amount])) },
    fee: fee === null ? null : BigInt(String(args[fee])),
  };
}

function judgeState(row: TransferRow, find: Find): void {
  const isOver = row.state === "confirmed" || row.state === "failed" || isAllThatIsKnown(row);
  if (!isOver) find("open", `${row.kind} of ${row.amount} at ${row.venue} is ${row.state} (${row.reason})`);
  if (row.kind === "deposit" && row.isCreditAwaited) find("open", `the credit of ${row.amount} is still awaited`);
}

const nameOf = ({ kind, serial, step, venue, amount, outcomes }: Intent): string =>
  `#${serial} of step ${step}, ${kind} of ${amount} at ${venue} (${outcomes.join(", ")})`;

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
function judgeIntents(judged: Judged, payings: readonly Paying[], find: Find): void {
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
function judgeStrangers({ evidence, intents, world }: Judged, payings: readonly Paying[], find: Find): void {
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

function judgePayings({ intents, rows, world }: Judged, payings: readonly Paying[], find: Find): void {
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
    const paid = onChain?.amount ?? paying.paid;
    if (row.paid !== paid.toString()) find("paid", `${name} was paid ${paid}, and the ledger says ${row.paid}`);
  }
}

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
function judgeTokens(judged: Judged, wallet: MoneyWallet, payings: readonly Paying[], find: Find): void {
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

const e12Of = (units: bigint, decimals: number): bigint =>
  decimals >= E12_DECIMALS
    ? units / 10n ** BigInt(decimals - E12_DECIMALS)
    : units * 10n ** BigInt(E12_DECIMALS - decimals);

/** Each account of each venue: what the ledger says that came and went, and what its books changed by. */
function judgeVenues({ evidence, rows }: Judged, wallet: MoneyWallet, payings: readonly Paying[], find: Find): void {
  const { address, walletId } = wallet;
  const before = evidence.before.venues.get(address);
  const after = evidence.after.venues.get(address);
  if (before === undefined || after === undefined) return;
  const e12 = (row: DepositRow | WithdrawalRow, units: string | null) => e12Of(BigInt(units ?? 0), row.token.decimals);
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
      .map(({ units }) => e12Of(units, 6)),
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
function judgeChainUse({ evidence, rows, world }: Judged, { address, walletId }: MoneyWallet, find: Find): void {
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

/** A deposit that is confirmed is the venue's, under the id that the row has. */
function judgeCredits({ rows, world, intents }: Judged, find: Find): void {
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

/** One payload for an intent and for a nonce; the same again only where one may have been lost. */
function judgeSignatures({ intents, signed, spareSignatures }: Judged, find: Find): void {
  const payloads = new Map<string, Set<string>>();
  const allowed = new Map<string, number>();
  const times = new Map<string, number>();
  const note = (key: string, payload: string): void => {
    payloads.set(key, (payloads.get(key) ?? new Set()).add(payload));
  };
  for (const { walletId, request } of signed) {
    let exact: string;
    if (request.kind === "transaction" && request.transaction.type === "eip1559") {
      const { chainId, nonce, to, data, value, gasLimit, maxFeePerGas } = request.transaction;
      const input: Hex = `0x${Buffer.from(data).toString("hex")}`;
      const payload = `${lower(to)} ${value} ${input} ${gasLimit}`;
      note(`${walletId} nonce ${nonce} on ${chainId}`, payload);
      const { name, args } = callOf(Number(chainId) as WorldChainId, to, input);
      // Setting an allowance to zero is the same call for each deposit.
      if (!(name === "approve" && args[1] === 0n)) note(`${walletId} ${chainId} ${input}`, `${nonce} ${payload}`);
      exact = `${walletId} ${chainId} ${nonce} ${payload} ${maxFeePerGas}`;
    } else if (request.kind === "typedData") {
      const { message } = JSON.parse(request.text) as { readonly message: Readonly<Record<string, unknown>> };
      const key = `${walletId} withdrawal of ${String(message["amount"])}`;
      note(key, request.text);
      allowed.set(key, judgeMessage(intents, walletId, message, find));
      exact = request.text;
    } else continue;
    times.set(exact, (times.get(exact) ?? 0) + 1);
  }
  for (const [key, own] of payloads)
    if (own.size > (allowed.get(key) ?? 1)) find("signed", `${own.size} things were signed for ${key}`);
  const again = [...times.values()].reduce((count, one) => count + one - 1, 0);
  if (again > spareSignatures) find("again", `${again} signatures were given again, and ${spareSignatures} were lost`);
}

/** Returns how many intents it may be of. */
function judgeMessage(
  intents: readonly Intent[],
  walletId: string,
  message: Readonly<Record<string, unknown>>,
  find: Find,
): number {
  const amount = String(message["amount"]);
  const isOf = (intent: Intent): intent is WithdrawalIntent =>
    intent.kind === "withdrawal" && intent.wallet.walletId === walletId && Number(intent.amount) === Number(amount);
  const own = intents.filter(isOf);
  const [intent] = own;
  if (intent === undefined) find("stranger", `nobody asked for a withdrawal of ${amount}`);
  else if (lower(message["destination"]) !== lower(intent.receiver))
    find("receiver", `${nameOf(intent)} was signed for ${String(message["destination"])}`);
  return own.length;
}

/** venueone shows what left the account and not what its bridge did of it (docs/transfers.md). */
function isAllThatIsKnown(row: TransferRow): boolean {
  return row.kind === "withdrawal" && row.venue === "venueone" && row.state === "broadcast" && row.paid !== null;
}
