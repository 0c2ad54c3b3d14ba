// A few large cities, so that a map of coasts alone says where one is. Longitude and latitude to a tenth of a degree.

const CITIES: readonly (readonly [name: string, longitude: number, latitude: number, rank: 1 | 2])[] = [
  ["London", -0.1, 51.5, 1], ["Paris", 2.4, 48.9, 1], ["Berlin", 13.4, 52.5, 1], ["Madrid", -3.7, 40.4, 1], ["Rome", 12.5, 41.9, 1],
  ["Moscow", 37.6, 55.8, 1], ["Istanbul", 29, 41, 1], ["Cairo", 31.2, 30, 1], ["Lagos", 3.4, 6.5, 1], ["Nairobi", 36.8, -1.3, 1],
  ["Johannesburg", 28, -26.2, 1], ["Cape Town", 18.4, -33.9, 2], ["Casablanca", -7.6, 33.6, 2], ["Algiers", 3.1, 36.8, 2],
  ["Accra", -0.2, 5.6, 2], ["Dakar", -17.4, 14.7, 2], ["Kinshasa", 15.3, -4.3, 1], ["Luanda", 13.2, -8.8, 2], ["Addis Ababa", 38.7, 9, 2],
  ["Khartoum", 32.5, 15.6, 2], ["Dar es Salaam", 39.3, -6.8, 2], ["Antananarivo", 47.5, -18.9, 2], ["Tehran", 51.4, 35.7, 1],
  ["Baghdad", 44.4, 33.3, 2], ["Riyadh", 46.7, 24.7, 1], ["Dubai", 55.3, 25.3, 2], ["Karachi", 67, 24.9, 1], ["Delhi", 77.2, 28.6, 1],
  ["Mumbai", 72.9, 19.1, 1], ["Bengaluru", 77.6, 13, 2], ["Kolkata", 88.4, 22.6, 2], ["Dhaka", 90.4, 23.8, 1], ["Colombo", 79.9, 6.9, 2],
  ["Bangkok", 100.5, 13.8, 1], ["Yangon", 96.2, 16.8, 2], ["Hanoi", 105.8, 21, 2], ["Ho Chi Minh City", 106.7, 10.8, 2],
  ["Kuala Lumpur", 101.7, 3.1, 2], ["Singapore", 103.8, 1.3, 1], ["Jakarta", 106.8, -6.2, 1], ["Manila", 121, 14.6, 1],
  ["Hong Kong", 114.2, 22.3, 1], ["Shanghai", 121.5, 31.2, 1], ["Beijing", 116.4, 39.9, 1], ["Chengdu", 104.1, 30.7, 2],
  ["Guangzhou", 113.3, 23.1, 2], ["Wuhan", 114.3, 30.6, 2], ["Taipei", 121.6, 25, 2], ["Seoul", 127, 37.6, 1], ["Tokyo", 139.7, 35.7, 1],
  ["Osaka", 135.5, 34.7, 2], ["Sapporo", 141.4, 43.1, 2], ["Ulaanbaatar", 106.9, 47.9, 2], ["Almaty", 76.9, 43.2, 2],
  ["Tashkent", 69.2, 41.3, 2], ["Novosibirsk", 82.9, 55, 2], ["Vladivostok", 131.9, 43.1, 2], ["Saint Petersburg", 30.3, 59.9, 2],
  ["Kyiv", 30.5, 50.5, 1], ["Warsaw", 21, 52.2, 2], ["Vienna", 16.4, 48.2, 2], ["Prague", 14.4, 50.1, 2], ["Budapest", 19, 47.5, 2],
  ["Bucharest", 26.1, 44.4, 2], ["Athens", 23.7, 38, 2], ["Stockholm", 18.1, 59.3, 2], ["Oslo", 10.8, 59.9, 2], ["Helsinki", 24.9, 60.2, 2],
  ["Copenhagen", 12.6, 55.7, 2], ["Hamburg", 10, 53.6, 2], ["Munich", 11.6, 48.1, 2], ["Amsterdam", 4.9, 52.4, 2], ["Brussels", 4.4, 50.8, 2],
  ["Zurich", 8.5, 47.4, 2], ["Milan", 9.2, 45.5, 2], ["Barcelona", 2.2, 41.4, 2], ["Lisbon", -9.1, 38.7, 2], ["Dublin", -6.3, 53.3, 2],
  ["Reykjavík", -21.9, 64.1, 2], ["New York", -74, 40.7, 1], ["Washington", -77, 38.9, 2], ["Boston", -71.1, 42.4, 2],
  ["Chicago", -87.6, 41.9, 1], ["Atlanta", -84.4, 33.7, 2], ["Miami", -80.2, 25.8, 2], ["Houston", -95.4, 29.8, 1], ["Austin", -97.7, 30.3, 2],
  ["Dallas", -96.8, 32.8, 2], ["Denver", -105, 39.7, 2], ["Phoenix", -112.1, 33.4, 2], ["Los Angeles", -118.2, 34.1, 1],
  ["San Francisco", -122.4, 37.8, 2], ["Seattle", -122.3, 47.6, 2], ["Vancouver", -123.1, 49.3, 2], ["Calgary", -114.1, 51, 2],
  ["Toronto", -79.4, 43.7, 1], ["Montreal", -73.6, 45.5, 2], ["Mexico City", -99.1, 19.4, 1], ["Guadalajara", -103.3, 20.7, 2],
  ["Guatemala City", -90.5, 14.6, 2], ["Havana", -82.4, 23.1, 2], ["Santo Domingo", -69.9, 18.5, 2], ["Bogotá", -74.1, 4.7, 1],
  ["Caracas", -66.9, 10.5, 2], ["Quito", -78.5, -0.2, 2], ["Lima", -77, -12, 1], ["La Paz", -68.1, -16.5, 2], ["Santiago", -70.7, -33.4, 1],
  ["Buenos Aires", -58.4, -34.6, 1], ["Montevideo", -56.2, -34.9, 2], ["São Paulo", -46.6, -23.6, 1], ["Rio de Janeiro", -43.2, -22.9, 2],
  ["Brasília", -47.9, -15.8, 2], ["Recife", -34.9, -8.1, 2], ["Manaus", -60, -3.1, 2], ["Anchorage", -149.9, 61.2, 2], ["Honolulu", -157.9, 21.3, 2],
  ["Sydney", 151.2, -33.9, 1], ["Melbourne", 145, -37.8, 2], ["Brisbane", 153, -27.5, 2], ["Perth", 115.9, -32, 2], ["Auckland", 174.8, -36.8, 2],
];

/** The cities as points; `rank` 1 are the largest. */
export const cities: GeoJSON.FeatureCollection = {
  type: "FeatureCollection",
  features: CITIES.map(([name, longitude, latitude, rank]) => ({
    type: "Feature", geometry: { type: "Point", coordinates: [longitude, latitude] }, properties: { name, rank },
  })),
};
