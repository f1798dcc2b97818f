/**
 * Whoever signs: a key in this process, or a wallet behind EIP-1193. `send` is the only place where a signature is asked for.
 * Invariant: it rejects with the outcome `notSent` only where nothing can have left.
 */
import {
  type Account,
  type Address,
  type Client,
  type Hex,
  isHash,
  keccak256,
  type LocalAccount,
  numberToHex,
  type Transaction,
} from "viem";
import {
  estimateFeesPerGas,
  estimateGas,
  getAddresses,
  getChainId,
  getTransaction,
  getTransactionCount,
  sendRawTransaction,
} from "viem/actions";
import { unavailable, withoutGas } from "./chain-node.js";
import type { ChainReader } from "./chain-reader.js";
import { type ContractCall, callData } from "./contract-calls.js";
import type { TradingConfig } from "./options.js";
import { isSame } from "./receipt-events.js";
import {
  isDisconnection,
  isNodeRefusal,
  isRefusedRequest,
  isUnauthorized,
  isUserRejection,
  isWithoutFunds,
  isWrongChain,
  shortText,
} from "./rpc-errors.js";
import { type VenuefiveErrorFacts, VenuefiveTradeError, type VenuefiveStage } from "./trade-error.js";
import { isShown, TIMED_OUT, within } from "./within.js";

export interface Signer {
  readonly client: Client;
  readonly account: Account;
  readonly address: Address;
}

export interface SentTransaction {
  readonly hash: Hex;
  readonly call: ContractCall;
  readonly data: Hex;
  readonly from: Address;
  /** Null where the wallet chose it; the chain shows it then. */
  readonly nonce: number | null;
  /** It is in a later block than this. */
  readonly afterBlock: bigint;
  /** The node has not confirmed that it took the transaction: the chain alone shows whether it did. */
  readonly doubt: VenuefiveTradeError | null;
}

/** For what the state changes between the estimate and the block. */
const GAS_MARGIN_PERCENT = 125n;
const ONCE = { retryCount: 0 };
/** By the client that reads, and by account: the lowest nonce that is free for certain. A node that lags gives one out twice. */
const freeNonces = new WeakMap<Client, Map<string, number>>();

/** Of the account that an order is of from its call on. */
export async function walletAddress({ walletClient }: TradingConfig, reader: ChainReader): Promise<Address> {
  if (walletClient === null) throw disconnected("no wallet is connected");
  return walletClient.account?.address ?? (await accountOf(walletClient, reader)).address;
}

/** The connected account on the right chain, as the wallet shows it now: still `address`. */
export async function connectedSigner(config: TradingConfig, reader: ChainReader, address: Address): Promise<Signer> {
  const client = config.walletClient;
  if (client === null) throw disconnected("no wallet is connected");
  const account = await accountOf(client, reader);
  if (!isSame(account.address, address))
    throw disconnected("the wallet shows another account than before", { details: { address } });
  await checkChain(config, client, reader);
  return { client, account, address: account.address };
}

async function accountOf(client: Client, reader: ChainReader): Promise<Account> {
  const given = client.account;
  if (given !== undefined && given.type === "local") return given;
  const shown = await asked(reader, getAddresses(client));
  if (given === undefined) {
    const [address] = shown;
    if (address === undefined) throw disconnected("the wallet shows no account");
    return { address, type: "json-rpc" };
  }
  if (!shown.some((address) => isSame(address, given.address)))
    throw disconnected("the wallet no longer shows this account", { details: { address: given.address } });
  return given;
}

/** Of both clients: reads of another chain would be of other contracts. */
export async function checkChain(
  { chainId }: TradingConfig,
  client: Client,
  reader: ChainReader,
  stage?: VenuefiveStage,
): Promise<void> {
  const wallet = await asked(reader, getChainId(client), stage);
  if (wallet !== chainId) throw wrongChain("the wallet", wallet, chainId, stage);
  const read = await reader.node.chainId();
  if (read !== chainId) throw wrongChain("publicClient", read, chainId);
}

async function asked<T>(reader: ChainReader, work: Promise<T>, stage: VenuefiveStage = "trade"): Promise<T> {
  try {
    return await reader.node.within(
      work.catch((error: unknown) => {
        throw isDisconnection(error) || isUnauthorized(error)
          ? disconnected(shortText(error), { stage, cause: error })
          : error;
      }),
    );
  } catch (error) {
    if (error instanceof VenuefiveTradeError && error.code === "CHAIN_UNAVAILABLE")
      throw disconnected(`the wallet gives no answer: ${error.message}`, { stage, cause: error });
    throw error;
  }
}

export interface SendRequest {
  readonly call: ContractCall;
  readonly stage: VenuefiveStage;
  readonly afterBlock: bigint;
  /** The wallet has sent after SIGN_TIMEOUT. */
  readonly onLate: (hash: Hex) => void;
}

/** Asks for the signature, and sends. */
export async function send(
  config: TradingConfig,
  signer: Signer,
  { call, stage, afterBlock, onLate }: SendRequest,
): Promise<SentTransaction> {
  const sent = { call, data: callData(call), from: signer.address, afterBlock };
  if (signer.account.type === "local") {
    const account = signer.account as LocalAccount;
    try {
      return { ...sent, ...(await sendSigned(config, signer.client, account, sent, stage)) };
    } catch (error) {
      nonceUnused(config, sent);
      throw error;
    }
  }
  return { ...sent, hash: await sendByWallet(config, signer, sent, { stage, onLate }), nonce: null, doubt: null };
}

/** After the nonce is used in a block. */
export function nonceUsed(config: TradingConfig, { from, nonce }: SentTransaction): void {
  if (nonce === null) return;
  const ofChain = freeNonces.get(config.publicClient) ?? new Map<string, number>();
  freeNonces.set(config.publicClient, ofChain);
  ofChain.set(from.toLowerCase(), Math.max(freeNonce(config, from), nonce + 1));
}

/** Nothing with this nonce is known to be on its way: a nonce manager would leave a gap, behind which nothing is mined. */
export function nonceUnused({ walletClient, chainId }: TradingConfig, { from }: Pick<SentTransaction, "from">): void {
  (walletClient?.account as LocalAccount | undefined)?.nonceManager?.reset({ address: from, chainId });
}

/** Waits until the node counts what was seen in a block. What it does not count then, the chain has undone. */
export async function nonceCounted(config: TradingConfig, { node }: ChainReader, address: Address): Promise<void> {
  const free = freeNonce(config, address);
  if (free > 0 && !(await isShown(config, async () => (await node.minedCount(address)) >= free)))
    freeNonces.get(config.publicClient)?.delete(address.toLowerCase());
}

const freeNonce = ({ publicClient }: TradingConfig, address: Address): number =>
  freeNonces.get(publicClient)?.get(address.toLowerCase()) ?? 0;

/** As the wallet's own node shows it; null where that gives nothing. */
export async function seenByWallet(
  { walletClient }: TradingConfig,
  reader: ChainReader,
  hash: Hex,
): Promise<Transaction | null> {
  if (walletClient === null) return null;
  return reader.node.within<Transaction>(getTransaction(walletClient, { hash })).catch(() => null);
}

/** The wallet chooses nonce and gas, shows the order to its user, and sends. */
async function sendByWallet(
  config: TradingConfig,
  { client, address }: Signer,
  sent: Pick<SentTransaction, "call" | "data">,
  { stage, onLate }: Pick<SendRequest, "stage" | "onLate">,
): Promise<Hex> {
  const work = askToSend(config, client, address, sent);
  let hash: Hex | typeof TIMED_OUT;
  try {
    hash = await within(config.clock, config.timeouts.signMs, work);
  } catch (error) {
    throw walletRefusal(error, stage, "unknown");
  }
  if (hash !== TIMED_OUT) return hash;
  // A late refusal changes nothing of what was reported.
  work.then(onLate, () => {});
  throw new VenuefiveTradeError("SIGN_TIMEOUT", "the wallet has not answered; it may still sign and send", {
    ...{ outcome: "unknown", stage },
  });
}

/** By one request: viem's own action sends again by another method after errors that do not say that nothing has left. */
async function askToSend(
  { chainId }: TradingConfig,
  client: Client,
  from: Address,
  { call, data }: Pick<SentTransaction, "call" | "data">,
): Promise<Hex> {
  const { address: to, value } = call;
  const request = { from, to, data, value: numberToHex(value), chainId: numberToHex(chainId) };
  const ways = waysOf({ request: client.request, value: client.transport } as never);
  const hash = await firstOf(ways, { method: "eth_sendTransaction", params: [request] });
  if (!isHash(hash)) throw new Error("no hash");
  return hash;
}

type Ask = (request: unknown, options: unknown) => Promise<Hex>;
interface Way {
  readonly request: Ask;
  readonly value?: { readonly transports?: readonly Way[] };
}

/** Behind viem's `fallback` each transport by itself: it would ask the next also where one may have sent, and one again. */
const waysOf = ({ request, value }: Way): readonly Ask[] => value?.transports?.flatMap(waysOf) ?? [request];

/** The next is asked only where one has not begun. */
const firstOf = ([ask, ...others]: readonly Ask[], request: unknown): Promise<Hex> =>
  (ask as Ask)(request, ONCE).catch((error: unknown) => {
    if (others.length > 0 && isRefusedRequest(error)) return firstOf(others, request);
    throw error;
  });

/** The first of several may have taken what the last one refuses, whose error is the only one that is shown. */
const isOfSeveral = ({ transport }: Client): boolean => transport.type === "fallback";

/** Signed here, so the hash is known before anything leaves. */
async function sendSigned(
  config: TradingConfig,
  client: Client,
  account: LocalAccount,
  { call, data }: Pick<SentTransaction, "call" | "data">,
  stage: VenuefiveStage,
): Promise<Pick<SentTransaction, "hash" | "nonce" | "doubt">> {
  const { clock, timeouts } = config;
  const { address: to, value } = call;
  const work = prepared(config, client, account, { to, data, value });
  const request = await within(clock, timeouts.readMs, work).catch((error: unknown) => {
    throw unavailable(error, stage);
  });
  if (request === TIMED_OUT) {
    // A nonce that it takes by then is for nothing.
    work.then(
      () => nonceUnused(config, { from: account.address }),
      () => {},
    );
    throw unavailable(new Error("no answer of the node"), stage);
  }
  const signing = account.signTransaction(request as never);
  const signed = await within(clock, timeouts.signMs, signing).catch((error: unknown) => {
    throw walletRefusal(error, stage, "notSent");
  });
  // A signature that comes later is not sent.
  if (signed === TIMED_OUT) throw new VenuefiveTradeError("SIGN_TIMEOUT", "the key has not signed in time", { stage });
  const hash = keccak256(signed);
  const sending = sendRawTransaction(client, { serializedTransaction: signed });
  const answer = await within<unknown>(clock, timeouts.readMs, sending).catch((error: unknown) => {
    if (isNodeRefusal(error) && !isOfSeveral(client)) throw nodeRefusal(error, stage);
    return error;
  });
  const cause = answer === TIMED_OUT ? undefined : answer;
  return { hash, nonce: request.nonce, doubt: answer === hash ? null : unconfirmed(hash, stage, cause) };
}

const unconfirmed = (txHash: Hex, stage: VenuefiveStage, cause: unknown): VenuefiveTradeError =>
  new VenuefiveTradeError("SEND_UNKNOWN", "the node has not confirmed that it took the transaction", {
    ...{ outcome: "unknown", stage, txHash, cause },
  });

async function prepared(
  config: TradingConfig,
  client: Client,
  account: LocalAccount,
  call: { readonly to: Address; readonly data: Hex; readonly value: bigint },
) {
  const { address, nonceManager } = account;
  const [pending, gas, fees] = await Promise.all([
    getTransactionCount(client, { address, blockTag: "pending" }),
    estimateGas(client, { account: address, ...call }),
    estimateFeesPerGas(client),
  ]);
  const nonce =
    nonceManager === undefined
      ? Math.max(pending, freeNonce(config, address))
      : await nonceManager.consume({ address, chainId: config.chainId, client });
  const { maxFeePerGas, maxPriorityFeePerGas } = fees;
  const gasLimit = (gas * GAS_MARGIN_PERCENT) / 100n;
  return {
    ...{ type: "eip1559", chainId: config.chainId, nonce, gas: gasLimit, maxFeePerGas, maxPriorityFeePerGas },
    ...call,
  } as const;
}

/** `otherwise`: the outcome of an error that does not say what became of the request. */
function walletRefusal(error: unknown, stage: VenuefiveStage, otherwise: "notSent" | "unknown"): VenuefiveTradeError {
  if (isUserRejection(error))
    return new VenuefiveTradeError("USER_REJECTED", "the request was rejected in the wallet", { stage, cause: error });
  if (isUnauthorized(error)) return disconnected(shortText(error), { stage, cause: error });
  if (isDisconnection(error)) return disconnected(shortText(error), { outcome: otherwise, stage, cause: error });
  if (isWrongChain(error))
    return new VenuefiveTradeError("WRONG_CHAIN", "the wallet is on another chain", { stage, cause: error });
  if (isWithoutFunds(error) || isNodeRefusal(error) || isRefusedRequest(error) || otherwise === "notSent")
    return nodeRefusal(error, stage);
  return new VenuefiveTradeError("SEND_UNKNOWN", `the wallet failed, and may have sent: ${shortText(error)}`, {
    ...{ outcome: "unknown", stage, cause: error },
  });
}

function nodeRefusal(error: unknown, stage: VenuefiveStage): VenuefiveTradeError {
  if (isWithoutFunds(error)) return withoutGas({ stage, cause: error });
  return new VenuefiveTradeError("SEND_REFUSED", `the transaction was not taken: ${shortText(error)}`, {
    stage,
    cause: error,
  });
}

function disconnected(message: string, facts: VenuefiveErrorFacts = {}): VenuefiveTradeError {
  return new VenuefiveTradeError("WALLET_DISCONNECTED", message, facts);
}

const wrongChain = (
  whose: string,
  actual: number,
  expected: number,
  stage: VenuefiveStage = "trade",
): VenuefiveTradeError =>
  new VenuefiveTradeError("WRONG_CHAIN", `${whose} is on chain ${actual}, not ${expected}`, {
    ...{ stage, details: { client: whose, actual, expected } },
  });
