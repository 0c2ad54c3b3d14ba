//! Where the fixes of a chunk are, as the box that its column `area` has: west, south, east and north in ten-millionths of
//! a degree, rounded outwards, each in four bytes, big end first. Empty: not known.

use waypost_actors::geofence::GeoBox;

use super::packed_chunk::ChunkFix;

/// Parts of a degree.
const PARTS: f64 = 1e7;

/// Where those of the fixes are that count. `None` if none does.
pub(super) fn area_of(fixes: &[ChunkFix]) -> Option<GeoBox> {
    GeoBox::around(fixes.iter().filter(|stored| stored.quarantine.is_none()).map(|stored| stored.fix.place))
}

/// The bytes of an area.
pub(super) fn pack_area(area: Option<GeoBox>) -> Vec<u8> {
    let Some(GeoBox { west, south, east, north }) = area else { return Vec::new() };
    let (down, up) = (|degrees: f64| (degrees * PARTS).floor(), |degrees: f64| (degrees * PARTS).ceil());
    [down(west), down(south), up(east), up(north)]
        .into_iter()
        .flat_map(|part| (part as i32).to_be_bytes())
        .collect()
}

/// The area that some bytes tell.
pub(super) fn unpack_area(bytes: &[u8]) -> Option<GeoBox> {
    let (sides, []) = bytes.as_chunks::<4>() else { return None };
    let degrees = |side: &[u8; 4]| f64::from(i32::from_be_bytes(*side)) / PARTS;
    let [west, south, east, north] = sides else { return None };
    Some(GeoBox { west: degrees(west), south: degrees(south), east: degrees(east), north: degrees(north) })
}

#[cfg(test)]
mod tests {
    use waypost_actors::model::Place;

    use super::*;

    #[test]
    fn an_area_comes_back_no_smaller() {
        let austin =
            GeoBox::around([Place::new(30.123_456_78, -97.987_654_32), Place::new(30.2, -97.5)]).unwrap();
        let read = unpack_area(&pack_area(Some(austin))).unwrap();
        assert!(read.west <= austin.west && read.east >= austin.east, "{read:?}");
        assert!(read.south <= austin.south && read.north >= austin.north, "{read:?}");
        assert!(austin.west - read.west < 2e-7 && read.north - austin.north < 2e-7, "{read:?}");
        let world = GeoBox { west: -180.0, south: -90.0, east: 180.0, north: 90.0 };
        assert_eq!(unpack_area(&pack_area(Some(world))), Some(world));
        assert_eq!((pack_area(None), unpack_area(&[])), (Vec::new(), None));
    }
}
