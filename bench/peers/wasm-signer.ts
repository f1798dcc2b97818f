/**
 * A venue's own signer, compiled from Go to WebAssembly, from the npm package `lighter-ts-sdk`. This loader replaces
 * the package's wrapper, which prints to the console and waits a second.
 */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { runInThisContext } from "node:vm";

interface GoRuntime {
  readonly importObject: object;
  run(instance: object): Promise<void>;
}

interface SignerAnswer {
  readonly error?: string;
  readonly txInfo?: string;
}

/** The browsers' type library, which declares it, is not loaded here. */
interface WasmApi {
  instantiate(bytes: Uint8Array, imports: object): Promise<{ readonly instance: object }>;
}

interface SignerExports {
  readonly WebAssembly: WasmApi;
  Go?: new () => GoRuntime;
  CreateClient?(privateKey: string, accountIndex: number, apiKeyIndex: number, chainId: number): SignerAnswer;
  SignCreateOrder?(...fields: readonly number[]): SignerAnswer;
}

export interface WasmOrder {
  readonly marketIndex: number;
  readonly clientOrderIndex: number;
  readonly baseAmount: number;
  readonly price: number;
  readonly isAsk: boolean;
}

const READY_POLLS = 200;

export interface WasmSignerKey {
  readonly privateKeyHex: string;
  readonly accountIndex: number;
  readonly apiKeyIndex: number;
  readonly chainId: number;
}

/** Returns a function that signs a reduce-only market order and gives the venue's `tx_info`. */
export async function loadWasmSigner(key: WasmSignerKey): Promise<(order: WasmOrder, nonce: number) => string> {
  const root = dirname(createRequire(import.meta.url).resolve("lighter-ts-sdk/package.json"));
  runInThisContext(readFileSync(join(root, "wasm", "wasm_exec.js"), "utf8"));
  const scope = globalThis as unknown as SignerExports;
  if (scope.Go === undefined) throw new Error("the Go runtime did not load");
  const go = new scope.Go();
  const { instance } = await scope.WebAssembly.instantiate(
    readFileSync(join(root, "wasm", "lighter-signer.wasm")),
    go.importObject,
  );
  void go.run(instance);
  for (let polls = 0; scope.SignCreateOrder === undefined && polls < READY_POLLS; polls++) {
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  const { CreateClient: createClient, SignCreateOrder: signCreateOrder } = scope;
  if (createClient === undefined || signCreateOrder === undefined) throw new Error("the signer did not start");
  const made = createClient(key.privateKeyHex, key.accountIndex, key.apiKeyIndex, key.chainId);
  if (made.error !== undefined && made.error !== "") throw new Error(`the signer refused its key: ${made.error}`);
  return (order, nonce) => {
    const { marketIndex, clientOrderIndex, baseAmount, price, isAsk } = order;
    const answer = signCreateOrder(
      marketIndex,
      clientOrderIndex,
      baseAmount,
      price,
      isAsk ? 1 : 0,
      1,
      0,
      1,
      0,
      0,
      nonce,
    );
    if (answer.txInfo === undefined) throw new Error(`the signer refused an order: ${answer.error ?? "no reason"}`);
    return answer.txInfo;
  };
}
