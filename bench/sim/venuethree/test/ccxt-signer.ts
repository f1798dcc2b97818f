/**
 * What ccxt expects from the WebAssembly signer that it loads from a file of the user: functions on the global object.
 * The file is not here, so the proven primitives replace it; every other line that runs is the library's own.
 */
import type { Exchange } from "ccxt";
import { nonceOf, randomScalar, signMessage } from "../../../../feeds/venuethree/sign/schnorr.js";
import { hashText, hashTransaction, transactionText, type TxFields } from "../../../../feeds/venuethree/sign/tx.js";

interface Signed {
  readonly txType: number;
  readonly txInfo: string;
}

type Signer = (...values: never[]) => Signed | { readonly authToken: string } | Record<string, never>;

const TWENTY_EIGHT_DAYS_MS = 28 * 86_400_000;

/** Puts the functions in place and tells ccxt that its library is loaded. */
export function installSigner(client: Exchange, key: Uint8Array, chainId: number): void {
  const sign = (
    type: number,
    fields: TxFields,
    attributes: readonly (readonly [number, number])[],
    nonce: number,
    apiKeyIndex: number,
    accountIndex: number,
  ): Signed => {
    const whole: TxFields = {
      AccountIndex: accountIndex,
      ApiKeyIndex: apiKeyIndex,
      ExpiredAt: Date.now() + 599_000,
      Nonce: nonce,
      ...fields,
    };
    // Nil values are left out, as the venue's signer does.
    const used = new Map(attributes.filter(([code, value]) => value !== (code === 5 ? 255 : 0)));
    const signature = signMessage(hashTransaction(chainId, type, whole, used), key, nonceOf(randomScalar()));
    return { txType: type, txInfo: transactionText(type, whole, used, signature) };
  };
  const expiry = (value: number): number => (value === -1 ? Date.now() + TWENTY_EIGHT_DAYS_MS : value);
  // prettier-ignore
  const functions: Record<string, (...values: number[]) => Signed> = {
    SignCreateOrder: (
      market = 0,
      client = 0,
      base = 0,
      price = 0,
      ask = 0,
      type = 0,
      tif = 0,
      reduce = 0,
      trigger = 0,
      until = 0,
      integrator = 0,
      takerFee = 0,
      makerFee = 0,
      behavior = 0,
      equality = 0,
      skip = 0,
      nonce = 0,
      keyIndex = 0,
      account = 0,
    ) =>
      sign(
        14,
        {
          MarketIndex: market,
          ClientOrderIndex: client,
          BaseAmount: base,
          Price: price,
          IsAsk: ask,
          Type: type,
          TimeInForce: tif,
          ReduceOnly: reduce,
          TriggerPrice: trigger,
          OrderExpiry: expiry(until),
        },
        [
          [1, integrator],
          [2, takerFee],
          [3, makerFee],
          [4, skip],
          [6, behavior],
          [7, equality],
        ],
        nonce,
        keyIndex,
        account,
      ),
    SignCancelOrder: (market = 0, index = 0, skip = 0, nonce = 0, keyIndex = 0, account = 0) =>
      sign(15, { MarketIndex: market, Index: index }, [[4, skip]], nonce, keyIndex, account),
    SignCancelAllOrders: (tif = 0, time = 0, market = 255, skip = 0, nonce = 0, keyIndex = 0, account = 0) =>
      sign(
        16,
        { TimeInForce: tif, Time: time },
        [
          [4, skip],
          [5, market],
        ],
        nonce,
        keyIndex,
        account,
      ),
    SignModifyOrder: (
      market = 0,
      index = 0,
      base = 0,
      price = 0,
      trigger = 0,
      integrator = 0,
      takerFee = 0,
      makerFee = 0,
      behavior = 0,
      equality = 0,
      skip = 0,
      nonce = 0,
      version = 0,
      keyIndex = 0,
      account = 0,
    ) =>
      sign(
        17,
        { MarketIndex: market, Index: index, BaseAmount: base, Price: price, TriggerPrice: trigger },
        [
          [1, integrator],
          [2, takerFee],
          [3, makerFee],
          [4, skip],
          [6, behavior],
          [7, equality],
          [8, version],
        ],
        nonce,
        keyIndex,
        account,
      ),
    SignUpdateLeverage: (market = 0, fraction = 0, mode = 0, skip = 0, nonce = 0, keyIndex = 0, account = 0) =>
      sign(
        20,
        { MarketIndex: market, InitialMarginFraction: fraction, MarginMode: mode },
        [[4, skip]],
        nonce,
        keyIndex,
        account,
      ),
    SignUpdateMargin: (market = 0, amount = 0, direction = 0, skip = 0, nonce = 0, keyIndex = 0, account = 0) =>
      sign(
        29,
        { MarketIndex: market, USDCAmount: amount, Direction: direction },
        [[4, skip]],
        nonce,
        keyIndex,
        account,
      ),
    SignCreateSubAccount: (skip = 0, nonce = 0, keyIndex = 0, account = 0) =>
      sign(9, {}, [[4, skip]], nonce, keyIndex, account),
  };
  const token = (deadline: number, keyIndex: number, account: number): { readonly authToken: string } => {
    const message = `${deadline}:${account}:${keyIndex}`;
    const signature = signMessage(hashText(message), key, nonceOf(randomScalar()));
    return { authToken: `${message}:${Buffer.from(signature).toString("hex")}` };
  };
  const all: Record<string, Signer> = { ...functions, CreateAuthToken: token, CreateClient: () => ({}) } as never;
  Object.assign(globalThis, all);
  (client as unknown as { loadLighterLibrary: () => Promise<object> }).loadLighterLibrary = () => Promise.resolve({});
}
