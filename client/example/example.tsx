/** The page of the example: a wallet, an order, and what is open, with all that the hook says of its latest call. */
import { type FormEvent, useMemo, useState } from "react";
import { type Address, createPublicClient, createWalletClient, custom, http } from "viem";
// From an own project: "unwind-client/react" and "unwind-client".
import { type UseVenuefiveTradeReturnType, useVenuefiveTrade, VenuefiveProvider } from "../react/index.js";
import type { VenuefiveDirection, VenuefiveOutcome } from "../venuefive/index.js";
import type { InjectedWallet } from "./dev-wallet.js";
import type { ExampleFacts } from "./facts.js";
import { type ShownAccount, type ShownPosition, useAccount } from "./positions.js";

export interface ExampleProps {
  readonly facts: ExampleFacts;
  readonly wallet: InjectedWallet;
}

const OUTCOMES: Readonly<Record<VenuefiveOutcome, string>> = {
  notSent: "Nothing was sent.",
  failed: "It was sent, and changed no position.",
  pending: "The order waits for the keeper, who may still execute it.",
  unknown: "It may be done, or be done yet: look at the position before another try.",
};

export function Example({ facts, wallet }: ExampleProps) {
  const [address, setAddress] = useState<Address>();
  const [problem, setProblem] = useState("");
  const publicClient = useMemo(() => createPublicClient({ transport: http(facts.rpcUrl) }), [facts]);
  const walletClient = useMemo(
    () => (address === undefined ? undefined : createWalletClient({ account: address, transport: custom(wallet) })),
    [address, wallet],
  );
  const { chainId, addresses } = facts;
  const { account, isStale } = useAccount(publicClient, facts, address);
  const connect = async (): Promise<void> => {
    try {
      const [first] = await createWalletClient({ transport: custom(wallet) }).requestAddresses();
      setAddress(first);
      setProblem("");
    } catch {
      setProblem("The wallet gave no account.");
    }
  };
  return (
    <VenuefiveProvider config={{ publicClient, walletClient, chainId, addresses, waitFor: "executed" }}>
      <header>
        <h1>Trading venuefive</h1>
        {address === undefined ? (
          <button type="button" onClick={() => void connect()}>
            Connect the wallet
          </button>
        ) : (
          <p className="wallet">
            <span className="num">{address}</span> <span className="num">{account?.usdc ?? "…"} USDC</span>
          </p>
        )}
      </header>
      {problem !== "" && <p role="alert">{problem}</p>}
      {isStale && <p role="alert">The chain does not answer: what is shown may be old.</p>}
      <Desk facts={facts} account={account} />
    </VenuefiveProvider>
  );
}

function Desk({ facts, account }: { readonly facts: ExampleFacts; readonly account: ShownAccount | undefined }) {
  const trade = useVenuefiveTrade();
  return (
    <main>
      <OrderForm facts={facts} trade={trade} />
      <LatestCall trade={trade} />
      <section aria-labelledby="open">
        <h2 id="open">Open positions</h2>
        {account === undefined || account.positions.length === 0 ? (
          <p className="soft">{account === undefined ? "No account is read yet." : "None."}</p>
        ) : (
          <ul>
            {account.positions.map((position) => (
              <Position key={`${position.pairIndex} ${position.tradeIndex}`} position={position} trade={trade} />
            ))}
          </ul>
        )}
      </section>
    </main>
  );
}

/** The hook keeps the error for the page, so a handler has nothing to do with it. */
const shownByTheHook = (): void => {};

interface TradeProps {
  readonly trade: UseVenuefiveTradeReturnType;
}

function OrderForm({ facts, trade }: TradeProps & { readonly facts: ExampleFacts }) {
  const priceOf = (symbol: string) => facts.pairs.find((pair) => pair.symbol === symbol)?.price;
  const [symbol, setSymbol] = useState("BTC");
  const [openPrice, setOpenPrice] = useState(priceOf("BTC") ?? "");
  const follow = (next: string): void => {
    setSymbol(next);
    setOpenPrice((old) => priceOf(next) ?? old);
  };
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const text = (name: string) => String(form.get(name) ?? "").trim();
    trade
      .openPosition({
        symbol: symbol.trim(),
        direction: text("direction") as VenuefiveDirection,
        positionSizeUsd: text("collateral"),
        leverage: Number(text("leverage")),
        openPrice: openPrice.trim(),
        orderType: "MARKET",
      })
      .catch(shownByTheHook);
  };
  return (
    <form onSubmit={submit} aria-labelledby="order">
      <h2 id="order">Open a position</h2>
      <label>
        Symbol
        <input name="symbol" value={symbol} onChange={({ target }) => follow(target.value)} autoComplete="off" />
      </label>
      <label>
        Direction
        <select name="direction">
          <option>LONG</option>
          <option>SHORT</option>
        </select>
      </label>
      <label>
        Collateral in USDC
        <input name="collateral" defaultValue="100" inputMode="decimal" autoComplete="off" />
      </label>
      <label>
        Leverage
        <input name="leverage" defaultValue="10" inputMode="decimal" autoComplete="off" />
      </label>
      <label>
        Price in USD
        <input
          name="price"
          value={openPrice}
          onChange={({ target }) => setOpenPrice(target.value)}
          inputMode="decimal"
          autoComplete="off"
        />
      </label>
      <button type="submit" disabled={trade.isPending}>
        Open
      </button>
    </form>
  );
}

function LatestCall({ trade }: TradeProps) {
  const { status, variables, error, steps, reset } = trade;
  return (
    <section aria-labelledby="latest">
      <h2 id="latest">Latest call</h2>
      <p id="status" role="status" data-status={status}>
        {variables === undefined ? "None yet." : `${variables.operation}: ${status}`}
      </p>
      {error !== null && (
        <p id="refusal" role="alert">
          <strong>{error.code}</strong> {error.message}. {OUTCOMES[error.outcome]}
        </p>
      )}
      <ol className="steps">
        {steps.map((step, at) => (
          // Steps are only added.
          // biome-ignore lint/suspicious/noArrayIndexKey: a step has no other name.
          <li key={at}>
            {step.step} {"txHash" in step && <span className="num hash">{step.txHash}</span>}
          </li>
        ))}
      </ol>
      {(status === "success" || status === "error") && (
        <button type="button" onClick={reset}>
          Forget it
        </button>
      )}
    </section>
  );
}

function Position({ position, trade }: TradeProps & { readonly position: ShownPosition }) {
  const { symbol, direction, leverage, size, collateral, openPrice, pairIndex, tradeIndex } = position;
  const name = `${symbol} ${direction}`;
  const close = (): void => {
    trade.closePosition({ pairIndex, tradeIndex }).catch(shownByTheHook);
  };
  return (
    <li aria-label={name}>
      <h3>
        {name} <span className="num">{leverage}x</span>
      </h3>
      <dl>
        <dt>Size</dt>
        <dd className="num" data-field="size">
          {size} {symbol}
        </dd>
        <dt>Collateral</dt>
        <dd className="num" data-field="collateral">
          {collateral} USDC
        </dd>
        <dt>Opened at</dt>
        <dd className="num">{openPrice} USD</dd>
      </dl>
      <button type="button" disabled={trade.isPending} onClick={close}>
        Close {name}
      </button>
    </li>
  );
}
