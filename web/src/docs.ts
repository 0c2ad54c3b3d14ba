/** The API's description to read and try, by Swagger UI. */
import SwaggerUI from "swagger-ui-dist/swagger-ui-es-bundle.js";
import "swagger-ui-dist/swagger-ui.css";

SwaggerUI({ url: "/openapi.json", dom_id: "#swagger-ui", deepLinking: true });
