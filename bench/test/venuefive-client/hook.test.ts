// @vitest-environment happy-dom
/** The hook in a page's document, over the local venuefive. */
import { act, cleanup, render, renderHook } from "@testing-library/react";
import { createElement, type ReactNode, StrictMode, useCallback, useEffect } from "react";
import { renderToString } from "react-dom/server";
import { decodeFunctionData } from "viem";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import {
  type UseVenuefiveTradeParameters,
  type UseVenuefiveTradeReturnType,
  useVenuefiveTrade,
  VenuefiveProvider,
} from "../../../client/react/index.js";
import { TRADING } from "../../../client/venuefive/contract-calls.js";
import { startVenuefive, type VenuefiveWorld } from "../../sim/venuefive/world.js";
import { FEE_WEI, ORDER, refusal, type SignedCall, startStand } from "./stand.js";

const REJECTED = Object.assign(new Error("User rejected the request."), { code: 4001 });
const OPERATIONS = [
  ...["openPosition", "closePosition", "closeBySymbol", "cancelLimitOrder", "updateLimitOrder"],
  ...["updateMargin", "updateTpAndSl", "resume", "reset"],
] as const;

let world: VenuefiveWorld;
beforeAll(async () => {
  world = await startVenuefive({ rolloverFeePerBlock: 0n });
});
afterAll(() => world.stop());

/** React complains there of updates that come to nobody, and of wrong hooks. */
let complaints: ReturnType<typeof vi.spyOn>;
beforeEach(() => {
  complaints = vi.spyOn(console, "error");
});
afterEach(() => {
  cleanup();
  expect(complaints.mock.calls).toEqual([]);
  complaints.mockRestore();
});

function Page({ options }: { readonly options?: UseVenuefiveTradeParameters }) {
  const { status, isIdle } = useVenuefiveTrade(options);
  return createElement("p", null, `${status} ${isIdle}`);
}

interface ClosingProps {
  readonly close: () => Promise<unknown>;
  readonly isConnected: boolean;
  readonly collect: (close: Promise<unknown>) => void;
}

/** Closes by itself once a wallet is there; effects of a child run before those of its parent. */
function Child({ close, isConnected, collect }: ClosingProps) {
  useEffect(() => {
    if (isConnected) collect(close());
  }, [close, isConnected, collect]);
  return null;
}

function Parent({
  options,
  collect,
}: Pick<ClosingProps, "collect"> & { readonly options: UseVenuefiveTradeParameters }) {
  const { closeBySymbol } = useVenuefiveTrade(options);
  const close = useCallback(() => closeBySymbol("BTC", "LONG"), [closeBySymbol]);
  return createElement(Child, { close, collect, isConnected: options.walletClient !== undefined });
}

const hook = (parameters: UseVenuefiveTradeParameters, wrapper?: (props: { children: ReactNode }) => ReactNode) =>
  renderHook((given: UseVenuefiveTradeParameters) => useVenuefiveTrade(given), {
    initialProps: parameters,
    ...(wrapper === undefined ? {} : { wrapper }),
  });
const flags = ({ status, isIdle, isPending, isSuccess, isError }: UseVenuefiveTradeReturnType) => ({
  ...{ status, isIdle, isPending, isSuccess, isError },
});
const only = (status: string) => ({
  status,
  ...{ isIdle: status === "idle", isPending: status === "pending" },
  ...{ isSuccess: status === "success", isError: status === "error" },
});

describe("the hook of venuefive", () => {
  it("goes from idle over pending to success, with steps, and back by reset", async () => {
    const { options } = await startStand(world);
    const seen: string[] = [];
    const { result } = hook({
      ...options,
      onStep: ({ step }) => void seen.push(step),
      onSuccess: (_, { operation }) => void seen.push(`success of ${operation}`),
      onError: () => void seen.push("error"),
      onSettled: (data, error) => void seen.push(`settled ${data !== undefined} ${error === null}`),
    });
    expect(flags(result.current)).toEqual(only("idle"));
    expect(result.current).toMatchObject({
      data: undefined,
      error: null,
      variables: undefined,
      submittedAt: 0,
      steps: [],
    });
    const before = Date.now();
    let call: Promise<unknown> = Promise.resolve();
    act(() => {
      call = result.current.openPosition(ORDER);
    });
    expect(flags(result.current)).toEqual(only("pending"));
    expect(result.current.variables).toEqual({ operation: "openPosition", parameters: ORDER });
    expect(result.current.submittedAt).toBeGreaterThanOrEqual(before);
    const opened = await act(() => call);
    expect(flags(result.current)).toEqual(only("success"));
    expect(result.current.data).toBe(opened);
    expect(opened).toMatchObject({ symbol: "BTC", direction: "LONG", size: "0.0108225108", leverage: 10 });
    const steps = ["approve", "approve-mined", "sign", "sent", "mined"];
    expect(result.current.steps.map(({ step }) => step)).toEqual(steps);
    expect(seen).toEqual([...steps, "success of openPosition", "settled true true"]);
    act(() => result.current.reset());
    expect(flags(result.current)).toEqual(only("idle"));
    expect(result.current).toMatchObject({ data: undefined, variables: undefined, steps: [] });
  });

  it("rejects with the typed error and shows it, until the next call", async () => {
    const { options, wallet } = await startStand(world);
    const seen: unknown[] = [];
    const { result } = hook({
      ...options,
      onError: ({ code }, { operation }) => void seen.push([code, operation]),
      onSettled: (data, error) => void seen.push([data, error?.code]),
    });
    wallet.next = () => Promise.reject(REJECTED);
    const error = await act(() => refusal(result.current.openPosition(ORDER)));
    expect(error).toMatchObject({ code: "USER_REJECTED", outcome: "notSent" });
    expect(flags(result.current)).toEqual(only("error"));
    expect(result.current.error).toBe(error);
    expect(seen).toEqual([
      ["USER_REJECTED", "openPosition"],
      [undefined, "USER_REJECTED"],
    ]);
    await act(() => refusal(result.current.openPosition({ ...ORDER, leverage: 51, symbol: "SOL" })));
    expect(result.current.error).toMatchObject({ code: "LEVERAGE_OUT_OF_RANGE" });
    await act(() => result.current.openPosition(ORDER));
    expect(flags(result.current)).toEqual(only("success"));
    expect(result.current.error).toBeNull();
  });

  it("keeps its functions over renders, and takes the clients of the newest", async () => {
    const { options } = await startStand(world);
    const { result, rerender } = hook({ ...options, walletClient: undefined });
    const first = OPERATIONS.map((name) => result.current[name]);
    const { openPosition } = result.current;
    const early = await act(() => refusal(openPosition(ORDER)));
    expect(early).toMatchObject({ code: "WALLET_DISCONNECTED", outcome: "notSent" });
    rerender(options);
    expect(OPERATIONS.every((name, at) => result.current[name] === first[at])).toBe(true);
    await act(() => openPosition(ORDER));
    expect(flags(result.current)).toEqual(only("success"));
  });

  it("closes by symbol, and its steps say how many there were", async () => {
    const stand = await startStand(world);
    for (const leverage of [10, 20]) await stand.trading.openPosition({ ...ORDER, leverage });
    await world.keeper.round();
    const { result } = hook(stand.options);
    const hash = await act(() => result.current.closeBySymbol("BTC", "LONG"));
    expect(result.current.data).toBe(hash);
    expect(result.current.variables).toEqual({
      operation: "closeBySymbol",
      parameters: { symbol: "BTC", direction: "LONG" },
    });
    expect(result.current.steps[0]).toMatchObject({ step: "matched", tradeIndex: 0, matchCount: 2 });
  });

  it("shows the latest of two calls, and loses neither", async () => {
    const { options, signed } = await startStand(world);
    const { result } = hook(options);
    const [long, short] = await act(() =>
      Promise.all([result.current.openPosition(ORDER), result.current.openPosition({ ...ORDER, direction: "SHORT" })]),
    );
    expect([long.direction, short.direction]).toEqual(["LONG", "SHORT"]);
    expect(result.current.data).toBe(short);
    expect(result.current.steps.filter(({ step }) => step === "sent")).toMatchObject([{ txHash: short.txHash }]);
    expect(signed()).toEqual(["approve", "openTrade", "approve", "openTrade"]);
  });

  it("finishes a call whose component has gone, without an update of it", async () => {
    const { options, signed } = await startStand(world);
    const seen: string[] = [];
    let renders = 0;
    const { result, unmount } = renderHook(() => {
      renders += 1;
      return useVenuefiveTrade({ ...options, onSuccess: () => void seen.push("success") });
    });
    let call: Promise<unknown> = Promise.resolve();
    act(() => {
      call = result.current.openPosition(ORDER);
    });
    unmount();
    const rendered = renders;
    expect(await call).toMatchObject({ symbol: "BTC" });
    expect({ renders, signed: signed(), seen }).toEqual({
      ...{ renders: rendered, signed: ["approve", "openTrade"], seen: ["success"] },
    });
  });

  it("signs once in StrictMode, which mounts twice", async () => {
    const { options, signed } = await startStand(world);
    const { result } = hook(options, StrictMode as never);
    const { txHash } = await act(() => result.current.openPosition(ORDER));
    expect(result.current.data).toMatchObject({ txHash });
    expect(signed()).toEqual(["approve", "openTrade"]);
  });

  it("gives a child's effect the clients of the same render", async () => {
    const { options } = await startStand(world);
    const results: Promise<unknown>[] = [];
    const collect = (close: Promise<unknown>): void => void results.push(refusal(close));
    const { rerender } = render(createElement(Parent, { options: { ...options, walletClient: undefined }, collect }));
    rerender(createElement(Parent, { options, collect }));
    await act(() => Promise.all(results));
    expect(await Promise.all(results)).toMatchObject([{ code: "NO_POSITION" }]);
  });

  it("leaves a listener's own rejection to the page, and no rejection unhandled", async () => {
    const { options } = await startStand(world);
    const reported: unknown[] = [];
    vi.stubGlobal("reportError", (error: Error) => reported.push(error.message));
    // Typed as what JavaScript lets a page pass where nothing is awaited.
    const rejecting = (message: string): (() => void) => (() => Promise.reject(new Error(message))) as () => void;
    const ofStep = rejecting("of a step");
    const { result } = hook({
      ...options,
      onStep: ({ step }) => (step === "sign" ? ofStep() : undefined),
      onSuccess: rejecting("of the success"),
    });
    await act(() => result.current.openPosition(ORDER));
    vi.unstubAllGlobals();
    expect(reported).toEqual(["of a step", "of the success"]);
  });

  it("renders on a server as idle, and asks nobody", async () => {
    const { options, node, wallet } = await startStand(world);
    const asked: string[] = [];
    node.intercept = ({ method }) => Promise.reject(new Error(String(asked.push(method))));
    wallet.node.intercept = node.intercept;
    expect(renderToString(createElement(Page, { options }))).toBe("<p>idle true</p>");
    expect(asked).toEqual([]);
  });

  it("takes the options of a provider, its own first", async () => {
    const { options } = await startStand(world);
    const shared = { ...options, walletClient: null };
    const wrapper = ({ children }: { children: ReactNode }) =>
      createElement(VenuefiveProvider, { config: shared, children });
    const { result } = hook({}, wrapper);
    const error = await act(() => refusal(result.current.openPosition(ORDER)));
    expect(error).toMatchObject({ code: "WALLET_DISCONNECTED" });
    const own = hook({ walletClient: options.walletClient }, wrapper);
    await act(() => own.result.current.openPosition(ORDER));
    expect(flags(own.result.current)).toEqual(only("success"));
    expect(flags(result.current)).toEqual(only("error"));
  });

  it("leaves the provider's options where its own are undefined, and has no wallet where that is", async () => {
    const { options, wallet } = await startStand(world);
    const wrapper = ({ children }: { children: ReactNode }) =>
      createElement(VenuefiveProvider, { config: { ...options, pairs: { BTC: 2 }, symbolGuard: false }, children });
    const { result } = hook({ pairs: undefined, executionFeeWei: undefined, onSuccess: undefined }, wrapper);
    await act(() => result.current.openPosition(ORDER));
    const { data, value } = wallet.asked.at(-1) as SignedCall;
    const { args } = decodeFunctionData({ abi: TRADING, data });
    const [trade] = args as unknown as readonly [{ readonly pairIndex: bigint }];
    expect({ pairIndex: trade.pairIndex, value }).toEqual({ pairIndex: 2n, value: FEE_WEI });
    // The provider's would be another account than the one that is being connected.
    const early = hook({ walletClient: undefined }, wrapper);
    const error = await act(() => refusal(early.result.current.openPosition(ORDER)));
    expect(error).toMatchObject({ code: "WALLET_DISCONNECTED", outcome: "notSent" });
  });

  it("does not report a hash as never sent that it cannot follow yet", async () => {
    const { options } = await startStand(world);
    const txHash = `0x${"ab".repeat(32)}` as const;
    // As after a reload, before the page has its client, and where an option is wrong.
    for (const wrong of [{ publicClient: undefined }, { pairs: { btc: 1 } }]) {
      const { result } = hook({ ...options, ...wrong });
      const error = await act(() => refusal(result.current.resume(txHash)));
      expect(error).toMatchObject({ code: "INVALID_OPTIONS", outcome: "unknown", txHash });
      expect(result.current.error).toBe(error);
    }
    const { result } = hook(options);
    const error = await act(() => refusal(result.current.resume("0x12")));
    expect(error).toMatchObject({ code: "INVALID_PARAMETERS", outcome: "notSent", txHash: null });
  });

  it("says what is missing where it has neither options nor a provider", async () => {
    expect(() => render(createElement(Page, {}))).toThrow("pass publicClient and walletClient");
    // React shows the error of a render.
    complaints.mockClear();
    const { result } = hook({ publicClient: undefined });
    const error = await act(() => refusal(result.current.openPosition(ORDER)));
    expect(error).toMatchObject({ code: "INVALID_OPTIONS", outcome: "notSent" });
  });
});
