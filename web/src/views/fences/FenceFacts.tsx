// A fence, for who may not change it.

import type { Fence } from "../../api/types";
import { dayAndTime, measure } from "../../format";
import { corners } from "../../map/draw/rings";
import { Facts } from "../../parts/Desk";
import { strings } from "../../strings";

const words = strings.manage.fences;

export function FenceFacts({ fence: { shape, rules, ...fence } }: { fence: Fence }) {
  const circle = shape?.type === "circle" ? shape : undefined;
  return (
    <Facts facts={[
      [words.shape, shape && words[shape.type]],
      [words.latitude, circle?.center.latitude],
      [words.longitude, circle?.center.longitude],
      [words.radius, circle ? measure("length", circle.radiusMeters) : null],
      [words.corners, shape && !circle ? corners(shape) : null],
      [words.area, measure("area", fence.areaSquareMeters)],
      [words.category, fence.category],
      [words.description, fence.description],
      [words.enabled, fence.enabled === false ? words.off : "✓"],
      [words.effectiveFrom, fence.effectiveFrom ? dayAndTime(fence.effectiveFrom) : words.effectiveAlways],
      [words.exitMargin, rules ? measure("length", rules.exitMarginMeters) : null],
      [words.dwell, rules?.dwellAfterSeconds],
      [words.speedLimit, rules?.speedLimitKmh == null ? null : measure("speed", rules.speedLimitKmh)],
    ]} />
  );
}
