/**
 * `npm run serve` and `unwind` as processes, compiled for the test: what an operator starts, on local venues in the
 * test's process that are configured as real ones.
 *
 * Invariant: no process outlives `dispose`.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect } from "vitest";
import { compileChild } from "../../../engine/storage/test/compile-child.js";
import { adminCall } from "./admin-call.js";
import type { LocalPair } from "./local-pair.js";
import { environmentFor } from "./system.js";

/** One installation: its folder, its sealing key, and what its processes have in their environment. */
export interface Place {
  readonly folder: string;
  readonly dataDir: string;
  readonly kekFile: string;
  readonly environment: Readonly<Record<string, string>>;
  /** Turns the service's command into the one to run, such as on another volume. */
  readonly inside?: (command: readonly string[]) => readonly string[];
}

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Running {
  readonly child: ChildProcess;
  /** Everything written so far. */
  stdout: string;
  stderr: string;
  readonly ended: Promise<Ended>;
}

export type ServeProcess = Running & { readonly url: string; readonly port: number };

/** What `unwind keys create --json` prints. */
export interface MadeKey {
  readonly keyId: string;
  readonly ownerId: string;
  readonly secret: string;
}

/** A machine that stands still for seconds makes no close late, and no book too old for one. */
const PATIENT = { CLOSE_DEADLINE_MS: "30000", MAX_QUOTE_AGE_MS: "60000" };

export class ServeBench {
  readonly #folder = mkdtempSync(join(tmpdir(), "unwind-serve-"));
  /** Paths of the compiled programs. */
  readonly main: string;
  readonly cli: string;
  readonly #children = new Set<ChildProcess>();
  readonly #pair: LocalPair;

  readonly #program = join(this.#folder, "program");

  /** `others`: programs that the service of this test starts beside the usual ones. */
  constructor(pair: LocalPair, others: readonly string[] = []) {
    this.#pair = pair;
    this.main = compileChild("gateway/main.ts", this.#program, [
      "gateway/children/storage.child.ts",
      "gateway/children/state-check.child.ts",
      "gateway/cli/unwind.ts",
      ...others,
    ]);
    this.cli = this.compiled("gateway/cli/unwind.ts");
  }

  /** Path of the compiled form of a source. */
  compiled(source: string): string {
    return join(this.#program, source.replace(/\.ts$/, ".js"));
  }

  /** An installation of its own, set up as README says. */
  place(name: string): Place {
    const folder = join(this.#folder, name);
    const dataDir = join(folder, "data");
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
    const kekFile = this.kek(folder, "kek");
    const environment = {
      ...environmentFor(this.#pair, dataDir, { LOG_LEVEL: "debug", ...PATIENT }),
      ...{ UNWIND_PROFILE: "serve", AUTH_MODE: "signed", KEK_FILE: kekFile },
    };
    return { folder, dataDir, kekFile, environment };
  }

  /** A sealing key in a file of its own. */
  kek(folder: string, name: string): string {
    const path = join(folder, name);
    writeFileSync(path, `${randomBytes(32).toString("hex")}\n`, { mode: 0o600 });
    return path;
  }

  run(
    command: readonly [string, ...string[]],
    cwd: string,
    environment: Readonly<Record<string, string>> = {},
  ): Running {
    const [program, ...args] = command;
    const env = { PATH: process.env["PATH"] ?? "", ...environment };
    const child = spawn(program, args, { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
    this.#children.add(child);
    const ended = new Promise<Ended>((resolve) =>
      child.on("close", (code) => {
        this.#children.delete(child);
        resolve({ code, stdout: state.stdout, stderr: state.stderr });
      }),
    );
    const state: Running = { child, stdout: "", stderr: "", ended };
    child.stdout.on("data", (chunk: Buffer) => {
      state.stdout += chunk.toString();
    });
    child.stderr.on("data", (chunk: Buffer) => {
      state.stderr += chunk.toString();
    });
    return state;
  }

  /** `changes`: "" takes a variable away. */
  launch(place: Place, changes: Readonly<Record<string, string>> = {}): Running {
    const environment = Object.fromEntries(
      Object.entries({ ...place.environment, ...changes }).filter(([, value]) => value !== ""),
    );
    const [program = "", ...args] = place.inside?.([process.execPath, this.main]) ?? [process.execPath, this.main];
    return this.run([program, ...args], place.folder, environment);
  }

  /** Resolves once the service listens. */
  async start(place: Place, changes: Readonly<Record<string, string>> = {}): Promise<ServeProcess> {
    const running = this.launch(place, changes);
    await expect.poll(() => `${running.stdout}${running.stderr}`).toMatch(/^ready \S+$|cannot start/m);
    const url = /^ready (\S+)$/m.exec(running.stdout)?.[1];
    if (url === undefined) throw new Error(running.stderr);
    return Object.assign(running, { url, port: Number(new URL(url).port) });
  }

  async stop(service: Running, signal: "SIGTERM" | "SIGKILL"): Promise<Ended> {
    service.child.kill(signal);
    return await service.ended;
  }

  /** Command that runs `unwind`; what follows are its arguments. */
  cliCommand(): readonly [string, ...string[]] {
    const script = `import(${JSON.stringify(pathToFileURL(this.cli).href)}).then(({ main }) => main(process.argv.slice(1)));`;
    return [process.execPath, "-e", script, "--"];
  }

  unwind(place: Place, ...args: readonly string[]): Promise<Ended> {
    return this.run([...this.cliCommand(), ...args], place.folder, place.environment).ended;
  }

  /** By the command, which is a program that starts. */
  async createKey(place: Place, ...args: readonly string[]): Promise<MadeKey> {
    const { stdout, stderr } = await this.unwind(place, "keys", "create", "--json", ...args);
    if (stdout === "") throw new Error(stderr);
    const { key, secret } = JSON.parse(stdout) as { readonly key: Omit<MadeKey, "secret">; readonly secret: string };
    return { keyId: key.keyId, ownerId: key.ownerId, secret };
  }

  /** A key that the running service makes: by its socket, without a program. */
  async makeKey({ dataDir }: Place, scopes: readonly string[], ips: readonly string[] = []): Promise<MadeKey> {
    const params = { scopes, ...(ips.length === 0 ? {} : { ips }) };
    const made = await adminCall(["service", join(dataDir, "admin.sock")], "keys.create", params);
    const { key, secret } = made as { readonly key: Omit<MadeKey, "secret">; readonly secret: string };
    return { keyId: key.keyId, ownerId: key.ownerId, secret };
  }

  /** A test that runs out of time does not reach its own cleanup. */
  dispose(): void {
    for (const child of this.#children) child.kill("SIGKILL");
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
