/** The source as the build has it. */
export function leanSource(text: string, path: string): string;

/** A plugin of esbuild that leaves out of sources what pages need not download. */
export function leanSources(): {
  readonly name: string;
  setup(build: {
    onLoad(
      options: { readonly filter: RegExp },
      load: (args: {
        readonly path: string;
      }) => Promise<{ readonly contents: string; readonly loader: 'ts' }>,
    ): void;
  }): void;
};
