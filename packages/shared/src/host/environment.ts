/**
 * @file Variables of the environment, where the host has one and lets it be read.
 */

/** The part of Deno that is used: Node's `process.env` there asks the user for permission, or throws. */
interface Permissions {
  querySync(wanted: { readonly name: 'env'; readonly variable: string }): {
    readonly state: 'granted' | 'prompt' | 'denied';
  };
}

interface Host {
  readonly process?: { readonly env?: Readonly<Record<string, string | undefined>> };
  readonly Deno?: { readonly permissions?: Permissions };
}

/** A variable of the environment; undefined where it is not set, or may not be read without asking. */
export function environmentVariable(name: string): string | undefined {
  const { process, Deno }: Host = globalThis;
  const permission = Deno?.permissions?.querySync({ name: 'env', variable: name });
  if (permission !== undefined && permission.state !== 'granted') return undefined;
  return process?.env?.[name];
}
