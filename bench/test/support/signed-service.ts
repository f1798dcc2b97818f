/**
 * The service in signed mode and its command line as processes of their own: everything that they print is kept, so
 * that a test can search it.
 *
 * Invariant: no process outlives `dispose`.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { compileChild } from "../../../engine/storage/test/compile-child.js";
import type { NewSecret } from "../../../gateway/auth/key-admin.js";
import type { Scope } from "../../../schemas/operation.js";
import { adminCall } from "./admin-call.js";
import type { LocalPair } from "./local-pair.js";
import { environmentFor } from "./system.js";

const START_MS = 120_000;

const madeKey = ({ key: { keyId, ownerId, scopes }, secret }: NewSecret) => ({ keyId, ownerId, secret, scopes });

export interface ServiceRun {
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  readonly child: ChildProcess;
  /** Everything printed so far, on stdout and stderr. */
  output(): string;
  stop(): Promise<void>;
}

export interface CliRun {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export type Environment = Readonly<Record<string, string>>;

export class SignedBench {
  readonly folder = mkdtempSync(join(tmpdir(), "unwind-signed-"));
  readonly #main: string;
  readonly #cli: string;
  readonly #children = new Set<ChildProcess>();

  /** `main`: the program of the service, from the repository's root. */
  constructor(main = "gateway/main.ts") {
    const program = join(this.folder, "program");
    this.#main = compileChild(main, program, [
      "gateway/children/storage.child.ts",
      "gateway/children/state-check.child.ts",
      "gateway/cli/unwind.ts",
    ]);
    this.#cli = join(program, "gateway", "cli", "unwind.js");
  }

  /** Settings of a service in signed mode on a folder of its own. `kek`: its key-encryption key. */
  settings(pair: LocalPair, name: string, kek: Buffer, more: Environment = {}): Environment {
    const dataDir = join(this.folder, name);
    mkdirSync(dataDir, { mode: 0o700 });
    const kekFile = join(this.folder, `${name}.kek`);
    writeFileSync(kekFile, kek.toString("hex"), { mode: 0o600 });
    chmodSync(kekFile, 0o600);
    const access = { AUTH_MODE: "signed", KEK_FILE: kekFile, SHUTDOWN_GRACE_MS: "500" };
    return environmentFor(pair, dataDir, { ...access, ...more });
  }

  /** Resolves once the service listens. */
  async start(environment: Environment, nodeOptions: readonly string[] = []): Promise<ServiceRun> {
    const child = this.#spawn([...nodeOptions, this.#main], environment);
    let output = "";
    let isGone = false;
    const gone = new Promise<void>((resolve) => child.once("close", () => resolve()));
    void gone.then(() => {
      isGone = true;
    });
    const url = await new Promise<string>((resolve, reject) => {
      const fail = (what: string) => reject(new Error(`the service ${what}: ${output.slice(-2_000)}`));
      const timer = setTimeout(() => fail("did not start"), START_MS);
      const take = (chunk: Buffer) => {
        output += chunk.toString("latin1");
        const ready = /^ready (\S+)$/m.exec(output)?.[1];
        if (ready === undefined) return;
        clearTimeout(timer);
        resolve(ready);
      };
      child.stdout?.on("data", take);
      child.stderr?.on("data", take);
      void gone.then(() => fail("ended"));
    });
    return {
      ...{ url, port: Number(new URL(url).port), pid: child.pid ?? 0, child },
      output: () => output,
      async stop() {
        if (!isGone) child.kill("SIGTERM");
        await gone;
      },
    };
  }

  async unwind(args: readonly string[], environment: Environment): Promise<CliRun> {
    const script = `import(${JSON.stringify(pathToFileURL(this.#cli).href)}).then(({ main }) => main(process.argv.slice(1)));`;
    const child = this.#spawn(["-e", script, "--", ...args], environment);
    let stdout = "";
    let stderr = "";
    child.stdout?.on("data", (chunk: Buffer) => {
      stdout += chunk.toString("latin1");
    });
    child.stderr?.on("data", (chunk: Buffer) => {
      stderr += chunk.toString("latin1");
    });
    const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
    return { code, stdout, stderr };
  }

  async createKey(environment: Environment, scopes: readonly Scope[], more: readonly string[] = []) {
    const args = ["keys", "create", "--scope", scopes.join(","), "--json", ...more];
    const { code, stdout, stderr } = await this.unwind(args, environment);
    if (code !== 0) throw new Error(`keys create ended with ${code}: ${stderr}`);
    return madeKey(JSON.parse(stdout) as NewSecret);
  }

  /** A key that the running service makes: by its socket, because each command is a program that starts. */
  async makeKey(environment: Environment, scopes: readonly Scope[]) {
    const path = join(environment["DATA_DIR"] ?? "", "admin.sock");
    return madeKey((await adminCall(["service", path], "keys.create", { scopes })) as NewSecret);
  }

  dispose(): void {
    for (const child of this.#children) child.kill("SIGKILL");
    rmSync(this.folder, { recursive: true, force: true });
  }

  #spawn(args: readonly string[], environment: Environment): ChildProcess {
    const child = spawn(process.execPath, args, {
      cwd: this.folder,
      env: { PATH: process.env["PATH"] ?? "", ...environment },
      stdio: ["pipe", "pipe", "pipe"],
    });
    this.#children.add(child);
    child.once("exit", () => this.#children.delete(child));
    return child;
  }
}
