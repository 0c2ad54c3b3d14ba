// What monitoring/grafana.json may say: Grafana's own types (@grafana/schema), closed, with the options of the panels that it has. What a
// panel leaves out, Grafana fills in.

import type { Dashboard, Panel } from "@grafana/schema/dist/esm/raw/dashboard/x/Dashboard_types.gen";
import type { Options as Stat } from "@grafana/schema/dist/esm/raw/composable/stat/panelcfg/x/StatPanelCfg_types.gen";
import type { Options as TimeSeries } from "@grafana/schema/dist/esm/raw/composable/timeseries/panelcfg/x/TimeSeriesPanelCfg_types.gen";

interface Query {
  refId: string;
  expr: string;
  legendFormat: string;
  datasource: { type: "prometheus"; uid: string };
}

type Shown<Type extends string, Options> = Omit<Panel, "type" | "options" | "targets"> &
  Required<Pick<Panel, "id" | "title" | "gridPos">> & { type: Type; options?: Options; targets: [Query, ...Query[]] };

type TimeSeriesOptions = Partial<Omit<TimeSeries, "legend" | "tooltip">> & {
  legend?: Partial<TimeSeries["legend"]>;
  tooltip?: Partial<TimeSeries["tooltip"]>;
};

export type Ours = Omit<Dashboard, "panels"> &
  Required<Pick<Dashboard, "uid" | "title">> & { panels: (Shown<"stat", Partial<Stat>> | Shown<"timeseries", TimeSeriesOptions>)[] };
