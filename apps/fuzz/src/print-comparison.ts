/**
 * @file The end of a printed program: it is run eagerly and compiled, and prints what differs.
 */

/** What a printed program runs on. */
export interface Printed {
  readonly backend: string;
  readonly dynamic: boolean | null;
  readonly usesGpu: boolean;
  /** How the eager run wraps what is compiled otherwise. */
  readonly alone: string;
}

/** Lines behind `play`. */
export function printComparison({ backend, dynamic, usesGpu, alone }: Printed): string[] {
  const options = [`backend: '${backend}'`, ...(dynamic === null ? [] : [`dynamic: ${dynamic}`])];
  return [
    '',
    ...(usesGpu ? ['await initWebGpu();'] : []),
    "await config.patch({ 'eager.kernels': 'reference' }, async () => {",
    `  const want = await play(${alone});`,
    `  const got = await play((fn) => compile(fn, { ${options.join(', ')} }));`,
    '  const different = want.flatMap((line, i) => (line === got[i] ? [] : [`${got[i]}\\n  instead of\\n${line}`]));',
    "  console.log(different.join('\\n') || 'no difference');",
    '});',
    '',
  ];
}
