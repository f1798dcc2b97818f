/**
 * The client as `npm pack` gives it to others, and a project outside of the repository that has it installed. The packing is
 * done in a copy, since other tests read the sources meanwhile. No registry is asked.
 */
import { execFile } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

export const ROOT = join(dirname(fileURLToPath(import.meta.url)), "..", "..", "..");
export const MODULES = join(ROOT, "node_modules");
/** A ceiling, not an expectation. */
const RUN_MS_MAX = 300_000;
const COPIED = ["LICENSE", "package.json", "tsconfig.json", "client", "schemas/venuefive"];
/** Such folders are results of builds. */
const BUILT = /(^|\/)(dist|node_modules)$/;

export interface Ran {
  readonly status: number;
  /** Both streams, so that a failure shows all that was printed. */
  readonly text: string;
}

/** Resolves however it ends. */
export async function runTool(command: string, args: readonly string[], folder: string): Promise<Ran> {
  // Settings of the npm that runs these tests are not those of a project elsewhere.
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^npm_/i.test(name)));
  const options = { cwd: folder, env: { ...env, NO_COLOR: "1" }, timeout: RUN_MS_MAX, maxBuffer: 64 * 1024 ** 2 };
  try {
    const { stdout, stderr } = await promisify(execFile)(command, args, options);
    return { status: 0, text: stdout + stderr };
  } catch (error) {
    const { code, stdout = "", stderr = "" } = error as { code?: unknown; stdout?: string; stderr?: string };
    return { status: typeof code === "number" ? code : 1, text: `${stdout}${stderr}${String(error)}` };
  }
}

/** Throws with what was printed where it fails. */
export async function succeed(command: string, args: readonly string[], folder: string): Promise<string> {
  const { status, text } = await runTool(command, args, folder);
  if (status !== 0) throw new Error(`${command} ${args.join(" ")} ended with ${status}:\n${text}`);
  return text;
}

export const nodeTool = (...path: readonly string[]): string => join(MODULES, ...path);

export interface PackedClient {
  readonly tarball: string;
  /** A project with the package and its peers installed, and nothing of the repository. */
  readonly project: string;
  remove(): void;
}

/** Whoever installs the package has its peers and their types. */
const PEERS = ["viem", "react", "react-dom", "@types/react", "@types/react-dom", "@types/node"];

export async function packClient(): Promise<PackedClient> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "unwind-package-")));
  const clone = join(folder, "clone");
  const project = join(folder, "project");
  mkdirSync(project);
  try {
    for (const path of COPIED) {
      const filter = (from: string) => !BUILT.test(relative(ROOT, from));
      cpSync(join(ROOT, path), join(clone, path), { recursive: true, filter });
    }
    symlinkSync(MODULES, join(clone, "node_modules"));
    await succeed("npm", ["pack", "--offline", "--pack-destination", folder], join(clone, "client"));
    const [name] = readdirSync(folder).filter((one) => one.endsWith(".tgz"));
    if (name === undefined) throw new Error("npm pack made no tarball");
    const tarball = join(folder, name);
    writeFileSync(join(project, "package.json"), JSON.stringify({ name: "outside", private: true, type: "module" }));
    // The peers would come from a registry.
    const options = ["--offline", "--legacy-peer-deps", "--no-audit", "--no-fund"];
    await succeed("npm", ["install", ...options, tarball], project);
    for (const peer of PEERS) linkPeer(project, peer);
    return { tarball, project, remove: () => rmSync(folder, { recursive: true, force: true }) };
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    throw error;
  }
}

function linkPeer(project: string, name: string): void {
  const link = join(project, "node_modules", name);
  mkdirSync(dirname(link), { recursive: true });
  symlinkSync(join(MODULES, name), link);
}
