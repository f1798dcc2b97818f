/** What the page of the example is told of the chain that it trades on. */
export interface ExampleFacts {
  readonly rpcUrl: string;
  readonly chainId: number;
  readonly addresses: Readonly<
    Record<"Trading" | "TradingStorage" | "PairStorage" | "Multicall" | "USDC", `0x${string}`>
  >;
  /** By their index; prices in USD as decimal text. */
  readonly pairs: readonly { readonly symbol: string; readonly price: string }[];
  /** Of a throwaway account of the local chain. */
  readonly devKey: `0x${string}`;
}
