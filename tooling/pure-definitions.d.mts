/** The source with calls that make a module's constants marked as free of effects. */
export function markPureDefinitions(text: string, file: string): string;

/** A plugin of esbuild that marks the sources of packages whose parts pages leave out. */
export function pureDefinitions(): {
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
