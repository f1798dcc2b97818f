/**
 * `npm run serve` with server wallets: both parties' folders as `unwind custody init` makes them, the service and its
 * co-signer as processes, their callers, and the operators' sockets of both sides.
 *
 * Invariant: no process and no connection outlives `dispose`.
 */
import { type ChildProcess, fork } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { systemRandom } from "../../../engine/custody/mpc/base/random.js";
import type { AdminOperation } from "../../../gateway/admin/protocol.js";
import type { WalletLine } from "../../../gateway/admin/wallet-admin.js";
import { makeParties } from "../../../gateway/custody/party-setup.js";
import { ContractJudge, type Reply } from "../../../gateway/test/client.js";
import { adminCall } from "./admin-call.js";
import { FALSE_PARTY } from "./false-party.js";
import { pidOfChild } from "./gateway-process.js";
import type { LocalPair } from "./local-pair.js";
import { type MadeKey, type Place, type Running, ServeBench, type ServeProcess } from "./serve-bench.js";
import { SignedCaller } from "./signed-caller.js";
import { found } from "./system.js";

const COSIGNER_MAIN = "gateway/cosigner/cosigner.child";
const FALSE_COSIGNER = "bench/test/support/false-cosigner.child.ts";

export interface CustodyPlace extends Place {
  readonly service: string;
  readonly cosigner: string;
}

export interface CosignerProcess {
  readonly running: Running;
  readonly environment: Readonly<Record<string, string>>;
}

export interface WalletFields {
  readonly userId: string;
  readonly walletId: string;
  readonly address: string;
  readonly state: string;
  readonly epoch: number;
}

/** Typed data that the policy of these tests allows to callers. */
export const FORUM_POST = {
  domain: {
    name: "Forum",
    version: "1",
    chainId: 1,
    verifyingContract: "0x1010101010101010101010101010101010101010",
  },
  primaryType: "Post",
  types: {
    EIP712Domain: [
      { name: "name", type: "string" },
      { name: "version", type: "string" },
      { name: "chainId", type: "uint256" },
      { name: "verifyingContract", type: "address" },
    ],
    Post: [{ name: "title", type: "string" }],
  },
  message: { title: "a first post" },
} as const;

const POLICY = {
  format: 1,
  callers: { messages: ["text"], typedData: [{ domain: FORUM_POST.domain, primaryType: FORUM_POST.primaryType }] },
  service: {
    venues: [
      "venueone.approveAgent",
      ...["registerAgent", "approveAgent", "deleteAgent"].map((act) => `venuetwo.${act}`),
    ].map((act) => ({ act })),
  },
};

export class CustodyBench {
  readonly serve: ServeBench;
  readonly #judge = new ContractJudge();
  readonly #services = new Set<ServeProcess>();
  readonly #callers: SignedCaller[] = [];
  readonly #cosigners = new Set<RemoteCosigner>();

  constructor(pair: LocalPair) {
    const worker = "gateway/children/custody.worker.ts";
    this.serve = new ServeBench(pair, [`${COSIGNER_MAIN}.ts`, worker, FALSE_COSIGNER, FALSE_PARTY]);
  }

  /** `changes`: of its environment. `policy`: the co-signer's. */
  place(name: string, changes: Readonly<Record<string, string>> = {}, policy: object = POLICY): CustodyPlace {
    const place = this.serve.place(name);
    const directory = join(place.folder, "custody");
    makeParties({ directory, backupKeys: { service: null, cosigner: null }, random: systemRandom });
    const [service, cosigner] = [join(directory, "service"), join(directory, "cosigner")];
    writeFileSync(join(cosigner, "policy.json"), JSON.stringify(policy));
    editParty(cosigner, (members) => ({ ...members, policyFile: "policy.json" }));
    const environment = { ...place.environment, CUSTODY_DIR: service, ...changes };
    return { ...place, service, cosigner, environment };
  }

  async start(place: Place, changes: Readonly<Record<string, string>> = {}): Promise<ServeProcess> {
    const service = await this.serve.start(place, changes);
    this.#services.add(service);
    return service;
  }

  async stop(service: ServeProcess, signal: "SIGTERM" | "SIGKILL"): Promise<void> {
    this.#services.delete(service);
    await this.serve.stop(service, signal);
  }

  createKey(place: CustodyPlace, scopes: readonly string[] = ["read", "sign"]): Promise<MadeKey> {
    return this.serve.makeKey(place, scopes);
  }

  caller(service: ServeProcess, key: MadeKey): WalletCaller {
    const caller = new SignedCaller(service.url, key, this.#judge);
    this.#callers.push(caller);
    return new WalletCaller(caller);
  }

  /** The co-signer that this service started, once it lives. */
  async cosignerPid(service: ServeProcess): Promise<number> {
    return found("the co-signer lives", async () => pidOfChild(service.child.pid, COSIGNER_MAIN));
  }

  /** A co-signer that no service starts. `port` 0: any. */
  async remoteCosigner(place: CustodyPlace, port = 0): Promise<RemoteCosigner> {
    const cosigner = await RemoteCosigner.start(this.serve.compiled(FALSE_COSIGNER), place.cosigner, port);
    this.#cosigners.add(cosigner);
    return cosigner;
  }

  /**
   * `unwind cosigner`, once it listens: its operator's own process. `environment` of a service leads there. `inside`:
   * turns the command into the one to run.
   */
  async cosignerProcess(
    place: CustodyPlace,
    inside: (command: readonly string[]) => readonly string[] = (command) => command,
  ): Promise<CosignerProcess> {
    const [program = "", ...args] = inside([...this.serve.cliCommand(), "cosigner", place.cosigner]);
    const running = this.serve.run([program, ...args], place.folder);
    await Promise.race([running.ended, new Promise((resolve) => running.child.stdout?.once("data", resolve))]);
    const url = /^ready (\S+)$/m.exec(running.stdout)?.[1];
    if (url === undefined) throw new Error(running.stderr);
    return { running, environment: { COSIGNER_URL: url } };
  }

  /** Wallet ids of both parties, and their states. */
  async wallets(place: CustodyPlace): Promise<Readonly<Record<"service" | "cosigner", readonly WalletLine[]>>> {
    const list = async (side: "service" | "cosigner") =>
      ((await this.admin(place, side, "wallets.list")) as { readonly wallets: readonly WalletLine[] }).wallets;
    return { service: await list("service"), cosigner: await list("cosigner") };
  }

  /** An act of one side's operator. Rejects with its refusal. */
  admin(
    place: CustodyPlace,
    side: "service" | "cosigner",
    op: AdminOperation,
    params: Readonly<Record<string, unknown>> = {},
  ): Promise<unknown> {
    const folder = side === "service" ? place.dataDir : join(place.cosigner, "data");
    return adminCall([side, join(folder, "admin.sock")], op, params);
  }

  /** Ends what the test started. */
  async end(): Promise<void> {
    await Promise.all(this.#callers.splice(0).map((caller) => caller.stop()));
    await Promise.all([...this.#services].map((service) => this.stop(service, "SIGKILL")));
    await Promise.all([...this.#cosigners].map((cosigner) => cosigner.stop("SIGKILL")));
    this.#cosigners.clear();
  }

  dispose(): void {
    this.serve.dispose();
  }
}

/** Changes `party.json`. */
export function editParty(
  directory: string,
  change: (members: Readonly<Record<string, unknown>>) => Readonly<Record<string, unknown>>,
): void {
  const path = join(directory, "party.json");
  writeFileSync(path, JSON.stringify(change(JSON.parse(readFileSync(path, "utf8")))));
}

export interface Told {
  readonly code?: string;
  readonly details?: Readonly<Record<string, unknown>>;
  readonly data?: {
    readonly signature?: `0x${string}`;
    readonly address?: string;
    readonly wallets?: readonly WalletFields[];
  };
}

export const toldBy = ({ body }: Reply) => body as unknown as Told;
export const walletIn = ({ body }: Reply) => body as unknown as WalletFields;
export const outcomeOf = (reply: Reply) => [reply.status, toldBy(reply).code ?? "ok"];

export class WalletCaller {
  readonly #caller: SignedCaller;

  constructor(caller: SignedCaller) {
    this.#caller = caller;
  }

  /** What proves to the stream who asks. */
  claim(): Readonly<Record<string, unknown>> {
    return this.#caller.claim();
  }

  ask(target: string): Promise<Reply> {
    return this.#caller.ask(target);
  }

  post(target: string, body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Reply> {
    return this.#caller.ask(target, { method: "POST", body: JSON.stringify(body), headers });
  }

  remove(target: string, body: unknown): Promise<Reply> {
    return this.#caller.ask(target, { method: "DELETE", body: JSON.stringify(body) });
  }

  create(userId: string, headers: Readonly<Record<string, string>> = {}): Promise<Reply> {
    return this.#caller.ask("/api/wallets", { method: "POST", body: JSON.stringify({ userId }), headers });
  }

  sign(name: string, what: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Reply> {
    const target = `/api/wallets/${encodeURIComponent(name)}/sign`;
    return this.#caller.ask(target, { method: "POST", body: JSON.stringify(what), headers });
  }

  find(name: string): Promise<Reply> {
    return this.#caller.ask(`/api/wallets/${encodeURIComponent(name)}`);
  }

  async list(): Promise<readonly WalletFields[]> {
    return toldBy(await this.#caller.ask("/api/wallets")).data?.wallets ?? [];
  }
}

/** Refusals that end by themselves: C is away, or a commit took too long on a machine that stood still. */
const PASSING: ReadonlySet<string | undefined> = new Set(["SIGNER_UNAVAILABLE", "STORE_UNAVAILABLE"]);

/**
 * The reply to a request that is sent again while it is refused for a moment, such as right after a crash. Rejects with the
 * last refusal where the moment does not end.
 */
export async function onceServed(send: () => Promise<Reply>): Promise<Reply> {
  let refused = "";
  return found(
    () => `a request is served: ${refused}`,
    async () => {
      const reply = await send();
      const { code, details } = toldBy(reply);
      if (!PASSING.has(code) && details?.["reason"] !== "BEFORE_START") return reply;
      refused = `${reply.status} ${reply.text}`;
      return null;
    },
  );
}

/** The wallet of a new user; a creation that was refused for a moment may have made it all the same. */
export async function madeWallet(caller: WalletCaller, userId: string): Promise<WalletFields> {
  const made = await onceServed(() => caller.create(userId));
  if (made.status === 200) return walletIn(made);
  const found = toldBy(made).code === "WALLET_EXISTS" ? await caller.find(userId) : made;
  if (found.status !== 200) throw new Error(`no wallet for ${userId}: ${found.text}`);
  return walletIn(found);
}

/** A service with one wallet, and a caller of it. */
export interface WalletStand {
  readonly place: CustodyPlace;
  readonly service: ServeProcess;
  readonly apiKey: MadeKey;
  readonly caller: WalletCaller;
  readonly wallet: WalletFields;
}

/** `name`: of the place and of the user. */
export async function walletStand(
  bench: CustodyBench,
  name: string,
  { place, scopes }: { readonly place: CustodyPlace; readonly scopes: readonly string[] },
): Promise<WalletStand> {
  const service = await bench.start(place);
  const apiKey = await bench.createKey(place, scopes);
  const caller = bench.caller(service, apiKey);
  return { place, service, apiKey, caller, wallet: await madeWallet(caller, name) };
}

export class RemoteCosigner {
  readonly port: number;
  readonly #child: ChildProcess;
  readonly #gone: Promise<void>;

  private constructor(child: ChildProcess, gone: Promise<void>, port: number) {
    this.port = port;
    this.#child = child;
    this.#gone = gone;
  }

  /** Rejects with what it says where it does not start. */
  static start(main: string, directory: string, port: number): Promise<RemoteCosigner> {
    const child = fork(main, [directory, String(port)], {
      env: { PATH: process.env["PATH"] ?? "" },
      execArgv: [],
      stdio: ["ignore", "ignore", "pipe", "ipc"],
    });
    let said = "";
    child.stderr?.on("data", (chunk: Buffer) => {
      said += chunk.toString();
    });
    const gone = new Promise<void>((resolve) => child.once("close", () => resolve()));
    return new Promise((resolve, reject) => {
      child.once("message", (message) => {
        resolve(new RemoteCosigner(child, gone, (message as { readonly port: number }).port));
      });
      void gone.then(() => reject(new Error(said)));
    });
  }

  /** Resolves once it does. */
  async behave(how: "cheat" | "honest"): Promise<void> {
    const heard = new Promise<void>((resolve) => this.#child.once("message", () => resolve()));
    this.#child.send(how);
    await heard;
  }

  async stop(signal: "SIGTERM" | "SIGKILL"): Promise<void> {
    this.#child.kill(signal);
    await this.#gone;
  }
}
